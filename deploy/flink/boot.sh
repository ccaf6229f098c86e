#!/usr/bin/env bash
# The command of Flink's PROCESS environment: runs Beam's Go boot, which fetches
# the worker binary of a job and runs it.
#
# Boot alone leaves its worker behind when it is stopped, and both stay behind
# when the TaskManager is killed. Here boot leads a process group, and the group
# is killed as soon as this script ends, is killed, or loses its parent. All of
# it is recorded in workers/PID of the state folder, for "flink status" and
# "flink down", and what boot leaves on the disk is removed.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=${TIDEMARK_FLINK_HOME:-$here/.run}
me=$$
parent=$PPID
dir=$home/workers/$me

mkdir -p "$dir" "$home/log" || exit 1
exec </dev/null >>"$home/log/worker-$me.log" 2>&1
if [[ ! -x $home/bin/boot ]]; then
	echo "boot.sh: $home/bin/boot is missing; run flink build" >&2
	rm -rf "$dir"
	exit 1
fi

# note_copy remembers the copy of the worker binary that boot made, which only
# the worker's command line tells.
note_copy() {
	local pid path
	[[ -s $dir/copy ]] && return
	for pid in $(pgrep -g "$boot"); do
		path=$(ps -o command= -p "$pid")
		path=${path%% *}
		case $path in
		/tmp/bin*/worker) echo "$path" >"$dir/copy" ;;
		esac
	done
}

clean_up() {
	note_copy
	kill -KILL -- "-$boot"
	[[ -s $dir/copy ]] && rm -rf "$(dirname "$(cat "$dir/copy")")"
	rm -rf "$dir"
} 2>/dev/null

# watch ends the group once this script is gone or an orphan: a killed process
# runs no trap.
watch() {
	trap - TERM INT HUP EXIT
	while [[ $(ps -o ppid= -p "$me") -eq $parent ]]; do
		note_copy
		# Often at first: a worker that fails at once is to be seen, too.
		if [[ -s $dir/copy ]]; then sleep 1; else sleep 0.1; fi
	done
	clean_up
}

# Every job in the background leads a process group of its own.
set -m
cd "$dir" || exit 1 # where boot writes pipeline_options.json
"$home/bin/boot" "$@" --semi_persist_dir="$dir" &
boot=$!
echo "$boot" >"$dir/group"
watch &
watcher=$!
trap 'clean_up; kill -KILL -- "-$watcher"' EXIT
trap 'exit 143' TERM INT HUP
wait "$boot"
