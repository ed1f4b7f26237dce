package confined

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
)

// madeAgain has the names of directories that programs make again.
var madeAgain = kb.Table("!made-again")

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
	// Ask, Runs and Guards are those of the policy in force now, which judges the changes. Runs may be nil.
	Ask    func(face, target string) obstat.Decision
	Runs   func(command string) obstat.Decision
	Guards func(path string) string
	// Offer returns the rule that would allow a thing, in the words of the policy's own file; nil offers none.
	Offer func(face, target string) string
	// Session is the directory of the runs that reach each other.
	Session string
	State   string
	Ticket  string // "" for a run by hand
	Environ []string
	// During asks a person about a file while the command waits; nil asks nobody.
	During func(path string) bool
	// Before is called with all changes once they are judged, before the first counts; nil calls nothing.
	Before func([]confine.Change)
	// Try: changes that the policy asks about are left to Before, which knows them by Asks.
	Try bool
	// Signals are passed on to the command.
	Signals <-chan os.Signal

	Stdin          io.Reader
	Stdout, Stderr io.Writer

	bases  map[string]obstat.Decision // see base
	made   *made
	own    map[string]bool // files of earlier runs that this one has changed
	where  string          // the file that the directory is handed back by, inside
	judged map[string]judgement
	lost   map[string]bool // deletions that do not come about
}

// A judgement is why a change does not count.
type judgement struct {
	why string
	// quiet: nothing is lost by it, and the command can go on as if it had been done.
	quiet bool
	// asks: a person may accept the change all the same.
	asks bool
}

// A Refused is a thing that the command did not get, and the words for it.
type Refused struct {
	Kind string `json:"kind"` // "read", "write", "delete" or "connect"
	What string `json:"what"`
	Why  string `json:"why"`
	// Seems: only a notification was seen before the fact.
	Seems bool `json:"seems,omitempty"`
	// Offer is the rule by which a person would allow it.
	Offer string `json:"offer,omitempty"`
}

// String is one line for the model: `connect to example.org was refused: no rule is about it`.
func (r *Refused) String() string {
	verb := map[string]string{"connect": "to connect to ", "publish": "to publish port "}[r.Kind]
	if verb == "" {
		verb = "to " + r.Kind + " "
	}
	how := " was refused: "
	if r.Seems {
		how = " seems to have been refused: "
	}
	text := verb + r.What + how + r.Why
	if r.Offer != "" {
		text += "; `" + r.Offer + "` would allow it"
	}
	return text
}

// An Ended is how a confined command ended.
type Ended struct {
	confine.Result
	Told []Refused `json:"told,omitempty"`
	// More is the number of refusals that are not told one by one.
	More int `json:"more,omitempty"`
	// Lost is the number of changes that the command has made and that do not count.
	Lost int `json:"lost,omitempty"`
	// Stayed is the number of files in temporary directories that the command has deleted and that are still there.
	Stayed int `json:"stayed,omitempty"`
	// Private are hidden directories in a temporary one that the command has made for itself: its files there are gone.
	Private []string `json:"private,omitempty"`
	// Kept says which names the command could not see or change, for one that has failed; for another the names that
	// it is known to have gone through without seeing them.
	Kept []string `json:"kept,omitempty"`
}

// Do runs the command. An error is about the confinement, and the command did not run.
func (r *Run) Do(ctx context.Context) (*Ended, error) {
	p := r.Bounds.Profile
	p.Env.Keep = slices.Concat(Keep(r.Environ, p.Sockets), r.Bounds.Env)
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
	r.where = "/tmp/.obstat-" + filepath.Base(r.Session) + "-" + r.Ticket
	text := r.Command
	if r.Ticket != "" {
		text = "trap 'pwd -P >" + r.where + " 2>/dev/null' EXIT\n" + text
	}
	c := confine.Command{Args: []string{shell, "-c", text}, Dir: r.Dir, Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr,
		Environ: r.Environ, Session: r.Session, Keep: r.Bounds.Stays, Signals: r.Signals}
	r.begin()
	if p.Workspace.Mode == confine.Overlay {
		if err := os.MkdirAll(p.Workspace.State, 0o700); err != nil {
			return nil, err
		}
		c.Judge, c.Before = r.judge, r.Before
	}
	if r.During != nil && !c.Keep {
		c.Ask = func(o confine.Opening) bool { return r.During(o.Path) }
	}
	began := time.Now()
	res, err := confine.Run(ctx, p, c)
	if err != nil && res.Level == "" {
		forget(r.State)
		return nil, err
	}
	r.made.note(res.Changes, r.own)
	if !slices.Contains(p.Workspace.More, "/tmp") {
		file := filepath.Join(r.Session, strings.TrimPrefix(r.where, "/"))
		r.handBack(file)
		os.Remove(file)
	}
	end := &Ended{Result: res}
	r.refusals(end)
	if r.Bounds.AtOnce {
		end.Told = append(end.Told, r.late(began)...)
	}
	end.Kept = r.keptNames(end.Exit == 0)
	return end, err
}

// begin makes room for the judgements of a run.
func (r *Run) begin() {
	r.judged, r.own, r.lost = map[string]judgement{}, map[string]bool{}, map[string]bool{}
	r.made = madeIn(r.State, r.Bounds.Root)
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
	dir := strings.TrimSuffix(string(text), "\n")
	root := cmp.Or(r.Bounds.Work, r.Bounds.Root)
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
	f, err := os.OpenFile(file, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return nil, errors.New("no small file")
	}
	return io.ReadAll(io.LimitReader(f, 4096))
}

// judge asks the policy about a change.
func (r *Run) judge(c confine.Change) confine.Verdict {
	if r.isScratch(c.Path) {
		return r.drop(&c, "", true)
	}
	if c.Path == r.where {
		r.handBack(c.Layer)
		return r.drop(&c, "", true)
	}
	known := r.known(&c)
	if known && r.Bounds.Whole {
		return confine.Commit
	}
	if why := r.keeps(&c); why != "" {
		return r.drop(&c, why, false)
	}
	r.own[c.Path] = c.Kind != confine.Created && r.made.has(c.Path)
	if known || c.Moved != "" && r.mayMove(&c) {
		return confine.Commit
	}
	if c.Kind == confine.Deleted {
		return r.judgeDeletion(&c)
	}
	base := r.base(obstat.FaceWrite)
	d, refused := r.Bounds.refusesChange(r.Ask, obstat.FaceWrite, c.Path, &base)
	if refused && (d.Verdict == obstat.Deny || !startsRepository(&c)) {
		return r.refuse(&c, &d, false)
	}
	return confine.Commit
}

// startsRepository tells whether a change is a part of a new repository that names no program: a rule that asks about
// `**/.git/**` is about one that is there.
func startsRepository(c *confine.Change) bool {
	return strings.Contains(c.Path+"/", "/.git/") && newRepository(c)
}

func (r *Run) drop(c *confine.Change, why string, quiet bool) confine.Verdict {
	r.judged[c.Path] = judgement{why: why, quiet: quiet}
	if c.Kind == confine.Deleted {
		for dir := filepath.Dir(c.Path); dir != "/"; dir = filepath.Dir(dir) {
			r.lost[dir] = true
		}
	}
	return confine.Drop
}

// judgeDeletion asks the policy about a deletion. A directory goes with its files, which were judged before it, and
// files that confined runs have made may go again.
func (r *Run) judgeDeletion(c *confine.Change) confine.Verdict {
	base := r.base(obstat.FaceDelete)
	d, refused := r.Bounds.refusesChange(r.Ask, obstat.FaceDelete, c.Path, &base)
	switch {
	case !refused, r.remade(c.Path, &d):
		return confine.Commit
	case d.Verdict != obstat.Deny && (c.Type == "dir" && !r.lost[c.Path] || r.made.has(c.Path)):
		return confine.Commit
	}
	return r.refuse(c, &d, r.inTemp(c.Path))
}

// refuse drops a change that the policy denies or asks about; where the run is only tried, a person is there to be
// asked.
func (r *Run) refuse(c *confine.Change, d *obstat.Decision, quiet bool) confine.Verdict {
	if r.Try && d.Verdict == obstat.Ask {
		r.judged[c.Path] = judgement{why: d.Reason(), asks: true}
		return confine.Commit
	}
	return r.drop(c, d.Reason(), quiet)
}

// Asks returns why the policy asks about a change, "" where it does not.
func (r *Run) Asks(path string) string {
	if j := r.judged[path]; j.asks {
		return j.why
	}
	return ""
}

// Why says why a change does not count.
func (r *Run) Why(c *confine.Change) string {
	f, _ := r.refusedChange(c, r.judged[c.Path].why)
	return f.Why
}

// inTemp tells whether a path lies in a temporary directory of the machine.
func (r *Run) inTemp(path string) bool {
	return path != r.Bounds.Git && slices.ContainsFunc(r.Bounds.Profile.Workspace.More, func(dir string) bool {
		return dir != r.Bounds.Git && paths.Inside(dir, path)
	})
}

// mayMove puts a file that goes on under another name to the policy as the command that moves it.
func (r *Run) mayMove(c *confine.Change) bool {
	from, to := c.Moved, c.Path
	if c.Kind == confine.Deleted {
		from, to = c.Path, c.Moved
	}
	if r.Runs == nil {
		return false
	}
	d := r.Runs("mv -- " + quote(from) + " " + quote(to))
	return d.Verdict == obstat.Allow
}

// keeps says why no confined command makes a change, whatever the policy says; "" where one may.
func (r *Run) keeps(c *confine.Change) string {
	why := r.kept(c.Path)
	if why != "" && r.Guards(c.Path) == "" && newRepository(c) {
		return ""
	}
	if why == "" && c.Kind != confine.Deleted && completesBare(c.Path, c.Layer) {
		return "git would take " + filepath.Dir(c.Path) + " for a repository, and run the programs that its config names"
	}
	if why == "" && c.Type == "link" && c.Kind != confine.Deleted {
		return r.leadsOut(c.Path, c.Target)
	}
	return why
}

// leadsOut says why a link does not count, "" where it does: it leads to a place that the run cannot see. A command
// that was looked at before would follow `notes.txt -> ~/.bashrc`, as `sleep 9; cp a notes.txt` does beside this run.
func (r *Run) leadsOut(path, target string) string {
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	to := realOf(target)
	p := &r.Bounds.Profile
	seen := slices.Concat(p.Read, p.Write, p.Workspace.More, []string{r.Bounds.Root, "/tmp", "/proc", "/dev"})
	in := func(tree string) bool { return paths.Inside(tree, to) || paths.Inside(realOf(tree), to) }
	if slices.ContainsFunc(seen, in) && !slices.ContainsFunc(p.Hidden, in) {
		return ""
	}
	return "it leads to " + to + ", which the command cannot see"
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
		d = r.Ask(face, filepath.Join(cmp.Or(r.Bounds.Work, r.Bounds.Root), neutral))
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
	rel := strings.TrimPrefix(path, cmp.Or(r.Bounds.Work, r.Bounds.Root)+"/")
	if !slices.ContainsFunc(strings.Split(rel, "/"), madeAgain().Has) {
		return false
	}
	base := r.base(obstat.FaceDelete)
	return sameRule(d, &base)
}

// maxTold bounds the refusals that are told one by one.
const maxTold = 20

// refusals says in words what the command did not get, each with the rule that is about it.
func (r *Run) refusals(end *Ended) {
	seen := map[string]bool{}
	add := func(f Refused, face, target string) {
		key := f.Kind + f.What
		if seen[key] {
			return
		}
		if seen[key] = true; len(end.Told) == maxTold {
			end.More++
			return
		}
		if r.Offer != nil && face != "" {
			f.Offer = r.Offer(face, target)
		}
		end.Told = append(end.Told, f)
	}
	for _, c := range end.Changes {
		if c.Outcome == confine.Committed || c.Kind == confine.Touched || c.Outcome == "" || r.isScratch(c.Path) {
			continue
		}
		switch j := r.judged[c.Path]; {
		case j.quiet && j.why != "":
			end.Stayed++
		case j.quiet || c.Type == "socket":
		case r.private(c.Path, end):
		default:
			end.Lost++
			f, offer := r.refusedChange(&c, j.why)
			add(f, offer, c.Path)
		}
	}
	for _, f := range end.Refused {
		if f.Kind == "name" || f.Kind == "connect" {
			host, _, _ := strings.Cut(f.Name, ":")
			target := "https://" + strings.TrimSuffix(host, ".") + "/"
			d := r.Ask(obstat.FaceConnect, target)
			add(Refused{Kind: "connect", What: f.Name, Why: because(&d, f.Why), Seems: !f.Exact}, obstat.FaceConnect, target)
			continue
		}
		if r.private(f.Name, end) {
			continue
		}
		face := map[bool]string{true: obstat.FaceWrite, false: obstat.FaceRead}[f.Kind == "write"]
		if f.Kind == "publish" {
			add(Refused{Kind: f.Kind, What: f.Name, Why: f.Why}, "", "")
			continue
		}
		d := r.Ask(face, f.Name)
		why := because(&d, f.Why)
		if face == obstat.FaceWrite {
			why = cmp.Or(r.kept(f.Name), why)
		}
		add(Refused{Kind: face, What: f.Name, Why: why, Seems: !f.Exact}, face, f.Name)
	}
	for _, name := range end.Appeared {
		add(Refused{Kind: obstat.FaceWrite, What: name,
			Why: "it appeared during the run, where the workspace is written through"}, "", "")
	}
}

// private tells whether a change lies in a temporary directory that nothing was asked about, and notes that directory.
func (r *Run) private(path string, end *Ended) bool {
	i := slices.IndexFunc(r.Bounds.Unasked, func(dir string) bool { return paths.Inside(dir, path) })
	if i < 0 {
		return false
	}
	if dir := r.Bounds.Unasked[i]; !slices.Contains(end.Private, dir) {
		end.Private = append(end.Private, dir)
	}
	return true
}

// refusedChange says why a change does not count, and by which face a rule could allow it, "" for none.
func (r *Run) refusedChange(c *confine.Change, why string) (Refused, string) {
	kind := obstat.FaceWrite
	if c.Kind == confine.Deleted {
		kind = obstat.FaceDelete
	}
	f := Refused{Kind: kind, What: c.Path, Why: why}
	if c.Outcome == confine.Conflict {
		f.Why = c.Why + ", and stays as it is there"
		return f, ""
	}
	if kept := r.kept(c.Path); kept != "" {
		f.Why = kept
		return f, ""
	}
	if why == "" {
		d := r.Ask(kind, c.Path)
		f.Why = because(&d, c.Why)
	}
	return f, kind
}

// maxKept bounds the names, and the sentences about them, that are told to a command that has failed.
const maxKept = 6

// keptNames says which names of the workspace the command did not see or could not change, a sentence a reason: the
// kernel has told it no more than that there is no such file, or that the file system is read-only. Of a command that
// has ended well, only the names that it is known to go through are told: a copy lacks them.
func (r *Run) keptNames(well bool) (out []string) {
	p := &r.Bounds.Profile
	names := map[string][]string{}
	var order []string
	add := func(does, name, why string) {
		key := does + "\x00" + why
		if names[key] == nil {
			order = append(order, key)
		}
		names[key] = append(names[key], strings.TrimPrefix(name, p.Workspace.Root+"/"))
	}
	for _, name := range p.Hidden {
		if paths.Inside(p.Workspace.Root, name) && (!well || slices.Contains(r.Bounds.Meets, name)) {
			d := r.Ask(obstat.FaceRead, name)
			add("did not see ", name, because(&d, "the policy says so"))
		}
	}
	for _, name := range p.ReadOnly {
		if _, own := r.Bounds.own(name); own && !well && paths.Inside(p.Workspace.Root, name) {
			d := r.Ask(obstat.FaceWrite, name)
			add("could not change ", name, cmp.Or(r.kept(name), because(&d, "the policy says so")))
		}
	}
	for _, key := range order[:min(len(order), maxKept)] {
		does, why, _ := strings.Cut(key, "\x00")
		out = append(out, does+Listed(names[key])+": "+why)
	}
	return out
}

// Abandoned names the files of which an earlier run that was killed has lost its changes, "" for none.
func Abandoned(end *Ended) string {
	var names []string
	for i := range end.Earlier {
		if end.Earlier[i].Outcome == confine.Dropped {
			names = append(names, end.Earlier[i].Path)
		}
	}
	return Listed(names)
}

// Listed joins the first of many names.
func Listed(names []string) string {
	if n := len(names) - maxKept; n > 0 {
		return strings.Join(names[:maxKept], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
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
