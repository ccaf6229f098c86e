package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rec is a record of key at the time of day hh:mm:ss on 1 June 2024.
func rec(id, key, clock string) string {
	return fmt.Sprintf(`{"id":%q,"key":%q,"time":"2024-06-01T%sZ"}`+"\n", id, key, clock)
}

// joinRow is a row of two records, of which one can be empty.
func joinRow(key, left, right, clock string) string {
	side := func(record string) string {
		if record == "" {
			return "null"
		}
		return strings.TrimSpace(record)
	}
	return fmt.Sprintf(`{"key":%q,"left":%s,"right":%s,"time":"2024-06-01T%sZ"}`+"\n", key, side(left), side(right), clock)
}

// lateRow is a late record.
func lateRow(side, record, clock, source string, position int) string {
	return fmt.Sprintf(`{"side":%q,"event":%s,"time":"2024-06-01T%sZ","source":%q,"position":%d}`+"\n", side, strings.TrimSpace(record), clock, source, position)
}

// inOrder sorts lines.
func inOrder(t *testing.T, text string) string {
	t.Helper()
	all := lines(t, text)
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// checkSides checks the conservation law of a summary, in sum and on each side, and
// returns the counts. What is not in it is 0.
func checkSides(t *testing.T, summary string) map[string]int {
	t.Helper()
	n := map[string]int{}
	for field := range strings.FieldsSeq(summary) {
		name, text, _ := strings.Cut(field, "=")
		v, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%q: %v", summary, err)
		}
		n[name] = v
	}
	if n["read"] != n["bad"]+n["assigned"] || n["assigned"] != n["added"]+n["late"]+n["over_limit"] || n["assigned"] != n["left_assigned"]+n["right_assigned"] {
		t.Errorf("%s: it does not add up", summary)
	}
	for _, s := range []string{"left", "right"} {
		if n[s+"_assigned"] != n[s+"_joined"]+n[s+"_unmatched"]+n[s+"_late"]+n[s+"_over_limit"] || n[s+"_open"] > n[s+"_unmatched"] {
			t.Errorf("%s: the %s does not add up", summary, s)
		}
	}
	return n
}

// The records of most tests, and their rows within a minute.
var (
	l1, l2, l3 = rec("l1", "a", "08:00:00"), rec("l2", "b", "08:05:00"), rec("l3", "a", "08:10:00")
	r1, r2, r3 = rec("r1", "a", "08:00:30"), rec("r2", "a", "08:11:00"), rec("r3", "c", "08:12:00")

	p11, p32 = joinRow("a", l1, r1, "08:00:30"), joinRow("a", l3, r2, "08:11:00")
	lone2    = joinRow("b", l2, "", "08:05:00")
	lone3    = joinRow("c", "", r3, "08:12:00")
)

const (
	allSides  = " left_assigned=3 left_joined=2 left_unmatched=1 left_late=0 right_assigned=3 right_joined=2 right_unmatched=1 right_late=0"
	allJoined = "read=6 bad=0 assigned=6 added=6 late=0" + allSides
)

// TestJoinBatch joins the same inputs in many forms.
func TestJoinBatch(t *testing.T) {
	dir := t.TempDir()
	table := func(records ...string) string {
		text := "id,key,time\n"
		for _, r := range records {
			text += strings.NewReplacer(`{"id":`, "", `"key":`, "", `"time":`, "", `}`, "").Replace(r)
		}
		return text
	}
	left, right := l1+l2+l3, r1+r2+r3
	write(t, dir, "l.ndjson", left)
	write(t, dir, "r.ndjson", right)
	write(t, dir, "r.csv", table(r1, r2, r3))
	write(t, dir, "l.ndjson.gz", zipped(t, left))
	write(t, dir, "part-1.ndjson", l1)
	write(t, dir, "part-2.csv.gz", zipped(t, table(l2, l3)))
	const full = " --lower 0s --upper 1m --type full"
	want := p11 + lone2 + p32 + lone3
	for _, c := range []struct{ args, stdin string }{
		{"--left l.ndjson --right r.ndjson", ""},
		{"--left - --right r.ndjson", left},
		{"--left l.ndjson --right -", right},
		{"--left l.ndjson.gz --right - --input_format csv", table(r1, r2, r3)},
		{"--left part-* --right r.csv", ""},
	} {
		for _, stream := range []string{"", " --stream --max_out_of_orderness 1h"} {
			if r := succeed(t, dir, c.stdin, strings.Fields("join "+c.args+full+stream)...); stream == "" {
				same(t, c.args, want, r.stdout)
				checkSides(t, r.lastLine())
			} else if r.lastLine() != allJoined || inOrder(t, r.stdout) != inOrder(t, want) {
				t.Errorf("%s: %+v", c.args+stream, r)
			}
		}
	}
	for kind, rows := range map[string]string{
		"inner": p11 + p32, "left": p11 + lone2 + p32, "right": p11 + p32 + lone3, "full": want, "left_anti": lone2,
		"left_semi": joinRow("a", l1, "", "08:00:30") + joinRow("a", l3, "", "08:11:00"),
	} {
		r := succeed(t, dir, "", strings.Fields("join --left l.ndjson --right r.ndjson --upper 1m --type "+kind)...)
		same(t, kind, rows, r.stdout)
		if r.lastLine() != allJoined {
			t.Errorf("%s: %s, want %s", kind, r.lastLine(), allJoined)
		}
	}
}

// TestJoinFields joins records that name their fields otherwise, on each side.
func TestJoinFields(t *testing.T) {
	dir := t.TempDir()
	const orders = `{"order":{"co":"a","shop":1},"at":1717228800}` + "\n"
	const payments = `{"co":"a","shop":"1","paid":{"at":"1717228805"}}` + "\n"
	write(t, dir, "l.ndjson", orders)
	write(t, dir, "r.ndjson", payments)
	r := succeed(t, dir, "", strings.Fields("join --left l.ndjson --right r.ndjson --upper 5s --time_unit s --key_field co,shop --left_key_field order.co,order.shop"+
		" --time_field at --right_time_field paid.at")...)
	same(t, "rows", joinRow("a|1", orders, payments, "08:00:05"), r.stdout)
}

// TestJoinBounds has partners at the bounds of the interval, and 1 ms outside.
func TestJoinBounds(t *testing.T) {
	dir := t.TempDir()
	at := func(id, ms string) string { return rec(id, "a", "08:00:0"+ms) }
	write(t, dir, "l.ndjson", at("l", "5"))
	write(t, dir, "r.ndjson", at("r", "3.999")+at("r", "4")+at("r", "4.001")+at("r", "5.999")+at("r", "6")+at("r", "6.001"))
	for args, want := range map[string][]string{
		"":                                    {"5|4", "5|4.001", "5.999|5.999", "6|6"},
		"--exclusive_lower":                   {"5|4.001", "5.999|5.999", "6|6"},
		"--exclusive_upper":                   {"5|4", "5|4.001", "5.999|5.999"},
		"--exclusive_lower --exclusive_upper": {"5|4.001", "5.999|5.999"},
	} {
		var rows string
		for _, w := range want {
			later, right, _ := strings.Cut(w, "|")
			rows += joinRow("a", at("l", "5"), at("r", right), "08:00:0"+later)
		}
		r := succeed(t, dir, "", strings.Fields("join --left l.ndjson --right r.ndjson --lower -1s --upper 1s "+args)...)
		same(t, args, rows, r.stdout)
	}
}

// TestJoinItself joins a file with itself: every record meets itself, and the
// others of its key.
func TestJoinItself(t *testing.T) {
	dir := t.TempDir()
	again := rec("l4", "a", "08:00:00")
	write(t, dir, "in.ndjson", l1+again+l2)
	var want strings.Builder
	for _, pair := range [][2]string{{l1, l1}, {l1, again}, {again, l1}, {again, again}} {
		want.WriteString(joinRow("a", pair[0], pair[1], "08:00:00"))
	}
	want.WriteString(joinRow("b", l2, l2, "08:05:00"))
	for _, args := range []string{"", "--stream", "--shards 64"} {
		r := succeed(t, dir, "", strings.Fields("join --left in.ndjson --right in.ndjson --lower 0s --upper 0s --type full "+args)...)
		if n := checkSides(t, r.lastLine()); inOrder(t, r.stdout) != inOrder(t, want.String()) || n["read"] != 6 || n["left_joined"] != 3 || n["right_joined"] != 3 {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// TestJoinNothing has inputs without records.
func TestJoinNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "none.ndjson", "")
	write(t, dir, "l.ndjson", l1)
	const none = " right_assigned=0 right_joined=0 right_unmatched=0 right_late=0\n"
	for _, stream := range []string{"", " --stream"} {
		for args, want := range map[string]result{
			"--left none.ndjson --right none.ndjson": {exitOK, "", "read=0 bad=0 assigned=0 added=0 late=0 left_assigned=0 left_joined=0 left_unmatched=0 left_late=0" + none},
			"--left l.ndjson --right none.ndjson": {
				exitOK, joinRow("a", l1, "", "08:00:00"),
				"read=1 bad=0 assigned=1 added=1 late=0 left_assigned=1 left_joined=0 left_unmatched=1 left_late=0" + none,
			},
		} {
			if r := tidemark(t, dir, "", strings.Fields("join --upper 1m --type full "+args+stream)...); r != want {
				t.Errorf("%s: got %+v\nwant %+v", args+stream, r, want)
			}
		}
	}
}

// TestJoinBad has records that are not understood, on both sides, and a timeline
// with some.
func TestJoinBad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "l.ndjson", "{}\n"+l1)
	write(t, dir, "r.ndjson", r1+`{"key":"a"}`+"\n")
	const reasons = `{"source":"l.ndjson","position":1,"raw":"{}","reason":"field \"key\": missing, want a string or a number"}` + "\n" +
		`{"source":"r.ndjson","position":2,"raw":"{\"key\":\"a\"}","reason":"field \"time\": missing, want an RFC 3339 time or a whole number of ms"}` + "\n"
	const summary = "read=4 bad=2 assigned=2 added=2 late=0"
	for _, stream := range []string{"", " --stream"} {
		r := succeed(t, dir, "", strings.Fields("join --left l.ndjson --right r.ndjson --upper 1m --bad_output bad.ndjson"+stream)...)
		same(t, "rows", p11, r.stdout)
		if got := read(t, dir, "bad.ndjson"); inOrder(t, got) != inOrder(t, reasons) || !strings.HasPrefix(r.lastLine(), summary) {
			t.Errorf("%s: %s, bad records %s", stream, r.lastLine(), got)
		}
		write(t, dir, "bad.ndjson", "")
		r = tidemark(t, dir, "", strings.Fields("join --left l.ndjson --right r.ndjson --upper 1m"+stream)...)
		if r.status != exitBad || r.stdout != p11 || !strings.Contains(r.stderr, "tidemark: not understood, or over the limit on a key: ") || !strings.HasPrefix(r.lastLine(), summary) {
			t.Errorf("%s: %+v", stream, r)
		}
	}
	write(t, dir, "script", `{"left": `+strings.TrimSpace(l1)+`}`+"\n"+`{"right": {"key": "a"}}`+"\n")
	r := tidemark(t, dir, "", strings.Fields("join --timeline script --upper 1m --type left")...)
	if r.status != exitBad || r.stdout != joinRow("a", l1, "", "08:00:00") || !strings.Contains(r.stderr, `script, step 2: field "time": missing`) {
		t.Errorf("timeline: %+v", r)
	}
}

// TestJoinLimit has more records of a key than the limit allows: the third is not
// joined, but reported.
func TestJoinLimit(t *testing.T) {
	dir := t.TempDir()
	over := rec("r9", "a", "08:00:40")
	write(t, dir, "script", fmt.Sprintf(`{"left": %s}`+"\n"+`{"right": %s}`+"\n"+`{"right": %s}`+"\n"+`{"left": %s}`+"\n", l1[:len(l1)-1], r1[:len(r1)-1], over[:len(over)-1], l2[:len(l2)-1]))
	const summary = "read=4 bad=0 assigned=4 added=3 late=0 over_limit=1 left_assigned=2 left_joined=1 left_unmatched=1 left_late=0" +
		" right_assigned=2 right_joined=1 right_unmatched=0 right_late=0 right_over_limit=1"
	const reason = `key "a" holds 2 rows, the limit on a key: this right one is not joined`
	const join = "join --timeline script --upper 1m --type full --max_rows_per_key 2"
	want := p11 + lone2
	r := tidemark(t, dir, "", strings.Fields(join)...)
	if r.status != exitBad || inOrder(t, r.stdout) != inOrder(t, want) || r.lastLine() != summary ||
		!strings.Contains(r.stderr, "tidemark: not understood, or over the limit on a key: ") {
		t.Errorf("%+v", r)
	}
	r = succeed(t, dir, "", strings.Fields(join+" --bad_output bad.csv")...)
	if inOrder(t, r.stdout) != inOrder(t, want) || r.stderr != summary+"\n" {
		t.Errorf("%+v", r)
	}
	same(t, "bad records", csvBadHeader+`script,3,"`+strings.ReplaceAll(over[:len(over)-1], `"`, `""`)+`","`+strings.ReplaceAll(reason, `"`, `""`)+`",`+"\n", read(t, dir, "bad.csv"))
	if r := succeed(t, dir, "", strings.Fields(strings.Replace(join, "_key 2", "_key 3", 1))...); !strings.Contains(r.stdout, `"r9"`) {
		t.Errorf("below the limit: %+v", r)
	}
}

// TestJoinTables writes rows and late records as tables.
func TestJoinTables(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "script", fmt.Sprintf(`{"left": %s}`+"\n"+`{"watermark": "2024-06-01T09:00:00Z"}`+"\n"+`{"right": %s}`+"\n", l1[:len(l1)-1], r1[:len(r1)-1]))
	quoted := func(record string) string {
		return `"` + strings.ReplaceAll(strings.TrimSpace(record), `"`, `""`) + `"`
	}
	const join = "join --timeline script --upper 1m --type left "
	succeed(t, dir, "", strings.Fields(join+"--output rows.csv --late_output late.csv")...)
	same(t, "rows", "key,left,right,time\na,"+quoted(l1)+",,2024-06-01T08:00:00Z\n", read(t, dir, "rows.csv"))
	same(t, "late records", "side,event,time,source,position\nright,"+quoted(r1)+",2024-06-01T08:00:30Z,script,3\n", read(t, dir, "late.csv"))
	r := succeed(t, dir, "", strings.Fields(join+"--format table --late_output late.ndjson")...)
	same(t, "table", "key  left"+strings.Repeat(" ", len(l1)-3)+"right  time\n"+"a    "+l1[:len(l1)-1]+"         2024-06-01T08:00:00Z\n", r.stdout)
	same(t, "late records", lateRow("right", r1, "08:00:30", "script", 3), read(t, dir, "late.ndjson"))
}
