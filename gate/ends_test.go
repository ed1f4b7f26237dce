package gate

import (
	"fmt"
	"os/exec"
	"runtime"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/guard/person"
)

// TestEnds: the processes that a command names are looked for, and a command that may mean others says nothing.
func TestEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked at by /proc")
	}
	sleeps := exec.Command("sleep", "3600.5401")
	if err := sleeps.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeps.Process.Kill(); _ = sleeps.Wait() }()
	pid := sleeps.Process.Pid
	// This test has no agent above it, so that a process that is there is of nobody known.
	const there, none, unknown = "", person.EndsNone, ""
	for _, tt := range []struct{ command, want string }{
		{"pkill -f 'no such process of [t]his machine'", unknown},
		{"pkill -f 'no such process of this machine'", none},
		{"pkill -9 -f 'no such process, of this machine'", none},
		{"pkill -f 'no such' || true; killall no-such-program", none},
		{"pkill -f 'sleep 3600.5401'", there},
		{fmt.Sprintf("kill %d", pid), there},
		{"kill -9 2147483646", none},
		{"kill -9 -1", unknown},
		{"kill -- -1", unknown},
		{"kill 0", unknown},
		{"kill 1", unknown},
		{"kill 99999999999999999999", unknown}, // no number of a process: it cannot be said to be none
		{"kill $PID", unknown},
		{"sleep 9 & kill %1", none},
		{"sleep 9 & kill $!", none},
		{`sleep 9 & PID=$!; sleep 1; kill -9 "$PID"`, none},
		{"sleep 9 & p=$!; kill ${p} 2>/dev/null; wait $p", none},
		{"sleep 9 & p=$!; p=1; kill $p", unknown},
		{"sleep 9 & p=$!7; kill $p", unknown},
		{"sleep 9 & p=$!; read p < f; kill $p", unknown},
		{"sleep 9 & p=$!; . ./f; kill $p", unknown},
		{"sleep 9 & p=$!; for p in 1 2; do kill $p; done", unknown},
		{"sleep 9 & p=$!; : $((p=1)); kill $p", unknown},
		{"sleep 9 & p=$!; kill -- -$p", unknown},
		{"sleep 9 & p=$!; kill ${p:-1}", unknown},
		{"sleep 9 & p=$!; kill $p; echo ${p#1}", unknown},
		{"sleep 9 & p=$!; kill $p$p", unknown},
		{"sleep 9 & p=$!; kill $p 1", unknown},
		{"kill $(pgrep x)", unknown},
		{"pkill -v no-such-program", unknown},
		{"pkill -f '^z+?'", unknown},
		{`pkill -f 'sleep\d'`, unknown},
		{"pkill -f 'a{,3}'", unknown},
		{"pkill -u root", unknown},
		{"pkill no-such one", unknown},
		{"killall /bin/no-such", unknown},
		{"sudo pkill no-such-program", unknown},
		{"ssh host pkill no-such-program", unknown},
		{"ls", unknown},
	} {
		c := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, tt.command), Dir: t.TempDir()}
		g := &Gate{opts: Options{World: obstat.OS{}, Getenv: func(string) string { return "" }}}
		if got := g.ends(c, g.world().Analysis(c)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.command, got, tt.want)
		}
	}
}
