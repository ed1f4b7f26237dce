package all_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
)

// fullWorld is a machine whose directories hold a million links, each to the next, the last of
// them to the first.
type fullWorld struct{ names, dirs []string }

func (fullWorld) Home(string) (string, bool)                     { return home, true }
func (fullWorld) IsDir(string) bool                              { return true }
func (w fullWorld) List(string) (links, dirs []string, all bool) { return w.names, w.dirs, true }
func (w fullWorld) Readlink(p string) (string, bool) {
	n := 0
	if _, err := fmt.Sscanf(p[strings.LastIndexByte(p, '/')+1:], "link%d", &n); err != nil {
		return "", false
	}
	return fmt.Sprintf("link%d", (n+1)%len(w.names)), true
}

// closedWorld is a machine of which nothing can be read.
type closedWorld struct{}

func (closedWorld) Home(string) (string, bool)                   { return "", false }
func (closedWorld) IsDir(string) bool                            { return false }
func (closedWorld) List(string) (links, dirs []string, all bool) { return nil, nil, false }
func (closedWorld) Readlink(string) (string, bool)               { return "", false }

// TestHostile: a call that is too much to look at, or a world that is, is answered in bounded time,
// is not allowed where a rule may apply, and says why; no panic is recovered on the way.
func TestHostile(t *testing.T) {
	full := fullWorld{names: make([]string, 1_000_000)}
	for i := range full.names {
		full.names[i] = fmt.Sprintf("link%d", i)
	}
	loop := &obstat.Snapshot{HomeDir: home, Links: map[string]string{dir + "/a": "b", dir + "/b": "a", dir + "/self": "self"}}
	for _, tc := range []struct {
		name, command string
		world         obstat.World
	}{
		{"a megabyte", "echo " + strings.Repeat("a ", 1<<19) + "; rm x", world},
		{"more than a megabyte", "echo " + strings.Repeat("a", 2<<20), world},
		{"redirects", "ls " + strings.Repeat(">a ", 30_000), world},
		{"evals", strings.Repeat("eval ", 5_000), world},
		{"wrappers", strings.Repeat("xargs ", 30_000) + "rm x", world},
		{"a glob with a million links", "cat l*", full},
		{"many globs with a million links", strings.Repeat("cat l*/x;", 20), full},
		{"a circle", "cat a/x self/.env", loop},
		{"a circle that is written", "echo x > self", loop},
		{"nothing can be read", "cat ~/.e* \"$x\"", closedWorld{}},
		{"no world", "cat ~/.e* \"$x\"", nil},
	} {
		for _, name := range []string{"claudecode", "opencode", "agentscope", "program"} {
			p, start := load(t, name, "**/.env"), time.Now()
			d := decide(p, tc.command, tc.world)
			if took := time.Since(start); took > time.Minute { // by the clock, on a machine that does other things; package effect counts processor time
				t.Errorf("%s, %s: %v", name, tc.name, took)
			}
			if d.Verdict == obstat.Allow || d.Reason() == "" || d.Stage == "fault" || strings.Contains(d.Reason(), "failed") {
				t.Errorf("%s, %s: %v: %.200s", name, tc.name, d.Verdict, d.Reason())
			}
		}
	}
}

// TestHostileMemory: calls of 64 kB whose parts would be put to the rules again and again take
// bounded memory.
func TestHostileMemory(t *testing.T) {
	for _, command := range []string{
		"npm install " + strings.Repeat("abc ", 16_000),            // may run its arguments
		strings.Repeat("npm "+strings.Repeat("abc ", 60)+";", 270), // many that may
		"git " + strings.Repeat("-C a ", 13_000) + "status",
		"rm " + strings.Repeat("{1..99} ", 8000),
	} {
		for _, name := range []string{"claudecode", "opencode", "agentscope", "program"} {
			p := load(t, name, "**/.env")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d := decide(p, command, world)
			runtime.ReadMemStats(&after)
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 || d.Stage == "fault" {
				t.Errorf("%s, %.20s: %v after %d MB", name, command, d.Verdict, mb)
			}
		}
	}
}
