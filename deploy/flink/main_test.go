//go:build flink

package flink

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// patience is how long a command, and whatever is waited for, may take.
const patience = 3 * time.Minute

// cluster is the one that all tests share.
type cluster struct {
	dir                        string // of everything
	home                       string // TIDEMARK_FLINK_HOME
	script                     string
	program                    string // the command
	restPort, rpcPort, jobPort int
	guard                      *exec.Cmd
	guarded                    io.WriteCloser // open as long as the tests run
	err                        error
	running                    chan struct{} // jobs, of 2 slots each
}

var (
	shared  cluster
	startUp sync.Once
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init() // conformance tests run pipelines themselves
	status := m.Run()
	if err := shared.end(status == 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = max(status, 1)
	}
	os.Exit(status)
}

// need is the cluster, which is started for the first test.
func need(t *testing.T) *cluster {
	t.Helper()
	if _, err := exec.LookPath("java"); err != nil && os.Getenv("JAVA_HOME") == "" {
		t.Skip("no java on the PATH, and no JAVA_HOME: Flink needs a JDK, 11 or 17")
	}
	startUp.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return &shared
}

// start builds the command and brings up the cluster.
func (c *cluster) start() (err error) {
	if c.script, err = filepath.Abs("flink"); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "tidemark-flink-"); err != nil {
		return err
	}
	c.home = filepath.Join(c.dir, "home")
	c.program = filepath.Join(c.dir, "tidemark")
	c.running = make(chan struct{}, 3)
	if err := c.startGuard(); err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-o", c.program, "../../cmd/tidemark").CombinedOutput(); err != nil {
		return fmt.Errorf("building the command: %w\n%s", err, out)
	}
	// What was built for the cluster of this clone is taken over; the script
	// looks whether it still fits.
	for _, name := range []string{"build", "bin"} {
		from := filepath.Join(".run", name)
		if _, err := os.Stat(from); err == nil {
			if err := os.CopyFS(filepath.Join(c.home, name), os.DirFS(from)); err != nil {
				return err
			}
		}
	}
	// What can take minutes comes before: others may take a port that is free now.
	if out, err := c.flink("build"); err != nil {
		return fmt.Errorf("flink build: %w\n%s", err, out)
	}
	for _, port := range []*int{&c.restPort, &c.rpcPort, &c.jobPort} {
		if *port, err = freePort(); err != nil {
			return err
		}
	}
	out, err := c.flink("up", "--parallelism", "2", "--slots", "8", "--rest_port", fmt.Sprint(c.restPort),
		"--rpc_port", fmt.Sprint(c.rpcPort), "--job_port", fmt.Sprint(c.jobPort))
	if err != nil {
		return fmt.Errorf("flink up: %w\n%s", err, out)
	}
	return nil
}

// guardScript waits until the tests are over, however they end, and stops the
// cluster. Unless they say that all is well it prints the ends of the logs.
const guardScript = `
trap '' INT TERM HUP
read -r ok || ok=
if [ "$ok" != ok ]; then
	for log in jobserver taskmanager-1; do
		echo "==== the end of the log $log"
		tail -n 40 "$TIDEMARK_FLINK_HOME/log/$log.log" 2>/dev/null | cut -c1-400
	done
fi
[ -d "$TIDEMARK_FLINK_HOME" ] && "$1" down || status=$?
rm -rf "$2"
exit "${status:-0}"
`

// startGuard starts a process that outlives a panic of the tests, or a kill.
func (c *cluster) startGuard() (err error) {
	c.guard = exec.Command("bash", "-c", guardScript, "guard", c.script, c.dir)
	c.guard.Env = c.environ()
	c.guard.Stdout, c.guard.Stderr = os.Stderr, os.Stderr
	if c.guarded, err = c.guard.StdinPipe(); err != nil {
		return err
	}
	return c.guard.Start()
}

// end stops the cluster.
func (c *cluster) end(ok bool) error {
	if c.guard == nil || c.guard.Process == nil {
		return nil
	}
	if ok {
		if _, err := fmt.Fprintln(c.guarded, "ok"); err != nil {
			return err
		}
	}
	if err := errors.Join(c.guarded.Close(), c.guard.Wait()); err != nil {
		return fmt.Errorf("stopping the cluster: %w", err)
	}
	return nil
}

// freePort is a port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (c *cluster) environ() []string {
	return append(os.Environ(), "TIDEMARK_FLINK_HOME="+c.home)
}

// flink runs the script, and returns what it prints.
func (c *cluster) flink(args ...string) (string, error) {
	cmd := exec.Command(c.script, args...)
	cmd.Env = c.environ()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// result is how a command ended.
type result struct {
	status         int
	stdout, stderr string
}

// summary is the last line on standard error.
func (r result) summary() string {
	all := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	return all[len(all)-1]
}

// process is a command that runs.
type process struct {
	args           []string
	cmd            *exec.Cmd
	cancel         context.CancelFunc
	stdout, stderr bytes.Buffer
	over           chan struct{} // closed when it has ended
	err            error
}

// begin starts the command in the folder dir.
func (c *cluster) begin(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{args: args, over: make(chan struct{})}
	var ctx context.Context
	ctx, p.cancel = context.WithTimeout(t.Context(), patience)
	p.cmd = exec.CommandContext(ctx, c.program, args...)
	p.cmd.Dir, p.cmd.WaitDelay = dir, 10*time.Second
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.over)
		if p.err = p.cmd.Wait(); ctx.Err() == nil && p.cmd.ProcessState != nil {
			p.err = nil // the status says it
		}
	}()
	return p
}

// ended reports whether the command has.
func (p *process) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// wait waits for the end of the command.
func (p *process) wait(t *testing.T) result {
	t.Helper()
	<-p.over
	p.cancel()
	if p.err != nil {
		t.Fatalf("%q: %v\n%s", p.args, p.err, p.stderr.String())
	}
	return result{p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
}

// tidemark runs the command in the folder dir.
func (c *cluster) tidemark(t *testing.T, dir string, args ...string) result {
	t.Helper()
	return c.begin(t, dir, args...).wait(t)
}

// succeed runs the command, which has to end with status 0.
func (c *cluster) succeed(t *testing.T, dir string, args ...string) result {
	t.Helper()
	r := c.tidemark(t, dir, args...)
	if r.status != 0 {
		t.Fatalf("%q: status %d, want 0:\n%s", args, r.status, r.stderr)
	}
	return r
}

// onFlink runs the command on the cluster, with the workers in its process. It
// waits until there are slots.
func (c *cluster) onFlink(t *testing.T, dir string, args ...string) result {
	t.Helper()
	c.running <- struct{}{}
	defer func() { <-c.running }()
	return c.succeed(t, dir, append(args, c.flags()...)...)
}

// flags are those of a job on the cluster.
func (c *cluster) flags() []string {
	return []string{"--runner", "flink", "--endpoint", fmt.Sprintf("localhost:%d", c.jobPort), "--parallelism", "2"}
}

// processFlags are those of a job whose workers are processes of the TaskManager.
func (c *cluster) processFlags() []string {
	config := fmt.Sprintf(`{"command":%q,"env":{"TIDEMARK_FLINK_HOME":%q}}`, filepath.Join(filepath.Dir(c.script), "boot.sh"), c.home)
	return append(c.flags(), "--environment_type", "PROCESS", "--environment_config", config)
}

// eventually waits until done is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", patience, what)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
