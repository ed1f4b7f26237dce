package confined

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/paths"
)

//go:embed books.txt
var booksText string

// books has the names of directories that programs make again.
var books = sync.OnceValue(func() []string { return words(booksText) })

// words returns the words of a table, without its comments.
func words(table string) (out []string) {
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.Fields(line)...)
		}
	}
	return out
}

// A Run is a command on its way through a confinement.
type Run struct {
	Command string
	Dir     string
	Bounds  *Bounds
	// Ask and Guards are those of the policy in force now, which judges the changes.
	Ask    func(face, target string) obstat.Decision
	Guards func(path string) string
	// Session is the directory of the runs that reach each other.
	Session string
	State   string
	Ticket  string // "" for a run by hand
	Environ []string
	// During asks a person about a file while the command waits; nil asks nobody.
	During func(path string) bool

	Stdin          io.Reader
	Stdout, Stderr io.Writer

	bases map[string]obstat.Decision // see base
}

// A Refused is a thing that the command did not get, and the words for it.
type Refused struct {
	Kind string `json:"kind"` // "read", "write", "delete" or "connect"
	What string `json:"what"`
	Why  string `json:"why"`
	// Seems: only a notification was seen before the fact.
	Seems bool `json:"seems,omitempty"`
}

// String is one line for the model: `connect to example.org was refused: no rule is about it`.
func (r *Refused) String() string {
	verb := map[string]string{"connect": "to connect to "}[r.Kind]
	if verb == "" {
		verb = "to " + r.Kind + " "
	}
	how := " was refused: "
	if r.Seems {
		how = " seems to have been refused: "
	}
	return verb + r.What + how + r.Why
}

// An Ended is how a confined command ended.
type Ended struct {
	confine.Result
	Told []Refused `json:"told,omitempty"`
}

// Do runs the command. An error is about the confinement, and the command did not run.
func (r *Run) Do(ctx context.Context) (*Ended, error) {
	p := r.Bounds.Profile
	p.Env.Keep = Keep(r.Environ, p.Sockets)
	if err := r.make(); err != nil {
		return nil, err
	}
	shell, err := shellOf()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.Session, 0o700); err != nil {
		return nil, err
	}
	where := ".obstat-" + filepath.Base(r.Session) + "-" + r.Ticket
	text := r.Command
	if r.Ticket != "" {
		text = "trap 'pwd -P >/tmp/" + where + " 2>/dev/null' EXIT\n" + text
	}
	c := confine.Command{Args: []string{shell, "-c", text}, Dir: r.Dir, Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr,
		Environ: r.Environ, Session: r.Session, Keep: r.Bounds.Stays}
	judged := map[string]string{}
	if p.Workspace.Mode == confine.Overlay {
		if err := os.MkdirAll(p.Workspace.State, 0o700); err != nil {
			return nil, err
		}
		c.Judge = func(ch confine.Change) confine.Verdict { return r.judge(ch, judged) }
	}
	if r.During != nil && !c.Keep {
		c.Ask = func(o confine.Opening) bool { return r.During(o.Path) }
	}
	began := time.Now()
	res, err := confine.Run(ctx, p, c)
	if err != nil && res.Level == "" {
		return nil, err
	}
	r.handBack(filepath.Join(r.Session, "tmp", where))
	told := r.refusals(&res, judged)
	if r.Bounds.AtOnce {
		told = append(told, r.late(began)...)
	}
	return &Ended{Result: res, Told: told}, err
}

func shellOf() (string, error) {
	for _, name := range []string{"/bin/bash", "/usr/bin/bash"} {
		if _, err := os.Stat(name); err == nil {
			return name, nil
		}
	}
	return exec.LookPath("sh")
}

// make makes the files and directories that the bounds want to be there.
func (r *Run) make() error {
	for _, name := range r.Bounds.Make {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			continue
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			err = f.Close()
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// handBack notes the directory that the command ended in, if that lies in the workspace: inside, any text
// may have been written there.
func (r *Run) handBack(file string) {
	text, err := readSmall(file)
	os.Remove(file)
	dir := strings.TrimSuffix(string(text), "\n")
	root := r.Bounds.Root
	if err != nil || r.Ticket == "" || root == "" || strings.ContainsAny(dir, "\x00\n") {
		return
	}
	if !filepath.IsAbs(dir) || !paths.Inside(root, dir) {
		return
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		_ = leave(r.State, r.Ticket, dir) // the agent's directory stays as it was
	}
}

// readSmall reads a file that a confined command may have put something else in the place of: a link, a pipe, or
// more than a directory's name.
func readSmall(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return nil, errors.New("no directory was handed back")
	}
	return os.ReadFile(file)
}

// judge asks the policy about a change of the workspace.
func (r *Run) judge(c confine.Change, judged map[string]string) confine.Verdict {
	if r.isScratch(c.Path) {
		return confine.Drop
	}
	known := r.known(&c)
	if known && r.Bounds.Whole {
		return confine.Commit
	}
	why := r.kept(c.Path)
	if c.Kind != confine.Deleted && completesBare(c.Path, c.Layer) {
		why = "git would take " + filepath.Dir(c.Path) + " for a repository, and run the programs that its config names"
	}
	if why != "" {
		judged[c.Path] = why
		return confine.Drop
	}
	if known {
		return confine.Commit
	}
	face := obstat.FaceWrite
	if c.Kind == confine.Deleted {
		face = obstat.FaceDelete
	}
	d, base := r.Ask(face, c.Path), r.base(face)
	if !refusesName(&d, &base) || face == obstat.FaceDelete && r.remade(c.Path, &d) {
		return confine.Commit
	}
	judged[c.Path] = d.Reason()
	return confine.Drop
}

// isScratch tells whether changes of a path are meant to be dropped.
func (r *Run) isScratch(path string) bool {
	return slices.ContainsFunc(r.Bounds.Scratch, func(dir string) bool { return paths.Inside(dir, path) })
}

// base returns the decision about any name of the workspace, asked once for all changes.
func (r *Run) base(face string) obstat.Decision {
	d, ok := r.bases[face]
	if !ok {
		if r.bases == nil {
			r.bases = map[string]obstat.Decision{}
		}
		d = r.Ask(face, filepath.Join(r.Bounds.Root, neutral))
		r.bases[face] = d
	}
	return d
}

// known tells whether the call is known to make a change. Beside code that cannot be looked into, a path is only
// itself: of `mkdir sub && python3 x.py` not the files that x.py makes in sub. git's own books go with `.git`.
func (r *Run) known(c *confine.Change) bool {
	return slices.ContainsFunc(r.Bounds.Known, func(k string) bool {
		whole := r.Bounds.Whole || c.Kind == confine.Deleted || filepath.Base(k) == ".git"
		return k == c.Path || whole && paths.Inside(k, c.Path)
	})
}

// kept says why no confined command changes a path, whatever the policy says; "" where one may.
func (r *Run) kept(path string) string {
	if what := r.Guards(path); what != "" {
		return "it is " + what + ", and only a person changes that"
	}
	if runByGit(path, isDirectory) {
		return "git runs the programs that it names, and only a person changes that"
	}
	return ""
}

// because says why the policy keeps a thing from code.
func because(d *obstat.Decision, otherwise string) string {
	switch {
	case d.Verdict == obstat.Allow:
		return otherwise
	case d.Rule == nil && d.Note == "":
		return "no rule allows it"
	}
	return d.Reason()
}

// remade tells whether a path that was deleted lies in a directory that programs make again, and the
// rule is about deleting as such.
func (r *Run) remade(path string, d *obstat.Decision) bool {
	rel := strings.TrimPrefix(path, r.Bounds.Root+"/")
	if !slices.ContainsFunc(strings.Split(rel, "/"), func(part string) bool { return slices.Contains(books(), part) }) {
		return false
	}
	base := r.base(obstat.FaceDelete)
	return sameRule(d, &base)
}

// maxTold bounds the refusals that are told one by one.
const maxTold = 20

// refusals says in words what the command did not get, each with the rule that is about it.
func (r *Run) refusals(res *confine.Result, judged map[string]string) (out []Refused) {
	seen := map[string]bool{}
	add := func(f Refused) {
		if key := f.Kind + f.What; !seen[key] && len(out) < maxTold {
			seen[key] = true
			out = append(out, f)
		}
	}
	for _, f := range res.Refused {
		switch f.Kind {
		case "name", "connect":
			host, _, _ := strings.Cut(f.Name, ":")
			d := r.Ask(obstat.FaceConnect, "https://"+strings.TrimSuffix(host, ".")+"/")
			add(Refused{"connect", f.Name, because(&d, f.Why), !f.Exact})
		default:
			face := map[bool]string{true: obstat.FaceWrite, false: obstat.FaceRead}[f.Kind == "write"]
			d := r.Ask(face, f.Name)
			why := because(&d, f.Why)
			if face == obstat.FaceWrite {
				why = cmp.Or(r.kept(f.Name), why)
			}
			add(Refused{face, f.Name, why, !f.Exact})
		}
	}
	for _, c := range res.Changes {
		if c.Outcome == confine.Committed || c.Kind == confine.Touched || c.Outcome == "" || r.isScratch(c.Path) {
			continue
		}
		kind := obstat.FaceWrite
		if c.Kind == confine.Deleted {
			kind = obstat.FaceDelete
		}
		why := judged[c.Path]
		if why == "" {
			if why = r.kept(c.Path); why == "" {
				d := r.Ask(kind, c.Path)
				why = because(&d, c.Why)
			}
		}
		if c.Outcome == confine.Conflict {
			why = "the workspace's own file was changed meanwhile: " + c.Why
		}
		add(Refused{Kind: kind, What: c.Path, Why: why})
	}
	for _, name := range res.Appeared {
		add(Refused{Kind: obstat.FaceWrite, What: name,
			Why: "it appeared during the run, where the workspace is written through"})
	}
	return out
}

// SessionOf names the session of a call: those of two agents are different.
func SessionOf(c *obstat.Call) string { return c.Agent + "\x00" + c.Session }

// SessionDir is where the runs of an agent's session are kept.
func SessionDir(state, session string) string { return filepath.Join(state, "runs", short(session)) }

// Sessions returns the directories of all sessions.
func Sessions(state string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(state, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("confined runs: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(state, "runs", e.Name()))
		}
	}
	return out, nil
}
