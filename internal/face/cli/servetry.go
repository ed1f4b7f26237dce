package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/internal/study/explain"
)

// ownChanges gives a server that runs on its agents' machine what their calls changed, and has it run commands to see.
func (o *serveOptions) ownChanges(opts *server.Options) {
	opts.Changes = func() (*changes.Store, error) { return undo.Store(os.Getenv) }
	exe, err := os.Executable()
	if err != nil {
		return
	}
	opts.Try = func(ctx context.Context, c *obstat.Call) (*server.Tried, error) {
		return runToSee(ctx, exe, c, explain.Unseen(c, explain.Analyze(c, o.Factory.World)))
	}
}

// runToSee runs `obstat try` in the directory of a call. It gets no more of the server's environment than a shell
// needs: the server's may hold the password of its database.
func runToSee(ctx context.Context, exe string, c *obstat.Call, command string) (*server.Tried, error) {
	if command == "" || !filepath.IsAbs(c.Dir) {
		return nil, errors.New("it is no command that cannot be looked into")
	}
	args := []string{"try", "--json"}
	for _, root := range c.Roots {
		args = append(args, "--root", root)
	}
	cmd := exec.CommandContext(ctx, exe, append(args, "--", command)...)
	cmd.Dir = c.Dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(triedEnv, name) && !strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(name, "LC_")
	})
	var out bytes.Buffer
	var told tail
	cmd.Stdout, cmd.Stderr = &out, &told
	err := cmd.Run()
	var got tryJSON
	if bad := json.Unmarshal(out.Bytes(), &got); bad != nil || ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), errors.New(told.String()), err)
	}
	tried := &server.Tried{Exit: got.Exit, Refused: got.Refused, Output: told.String()}
	for _, p := range got.Changes {
		tried.Paths = append(tried.Paths, server.TriedPath{Path: p.Path, Kind: string(p.Kind), Verdict: p.Verdict,
			Reason: p.Reason, Diff: p.Diff})
	}
	return tried, nil
}

// triedEnv are the variables that a command gets which is run to see.
var triedEnv = []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM"}

// A tail keeps the end of what a command writes.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 16 << 10
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(p), nil
}

// String returns the lines, fit to be shown.
func (t *tail) String() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\uFFFD")), "\n")
	for i := range lines {
		lines[i] = visible(lines[i])
	}
	return strings.Join(lines, "\n")
}
