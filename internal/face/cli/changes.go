package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/paths"
)

// changesOptions are the options of obstat changes.
type changesOptions struct {
	*Factory
	Session string `flag:"session"`
	Agent   string `flag:"agent"`
	Since   string `flag:"since"`
	Limit   int    `flag:"number n"`
	Forget  string `flag:"forget"`
}

func newChanges(f *Factory) *cobra.Command {
	o := &changesOptions{Factory: f, Limit: 20}
	return command("changes", some(0, 1), o, o.run)
}

// changeStore opens the store of changes. What a killed process had begun is ended before, and told.
func (f *Factory) changeStore() (*changes.Store, error) {
	told, err := undo.Settle(os.Getenv)
	if err != nil {
		return nil, err
	}
	for _, text := range told {
		fmt.Fprintf(f.IO.Err, "obstat: %s\n", text)
	}
	return undo.Store(os.Getenv)
}

// changesJSON is the output of obstat changes --json.
type changesJSON struct {
	V       int          `json:"v"`
	Changes []changeJSON `json:"changes"`
}

// changeJSON is one change of obstat changes --json.
type changeJSON struct {
	ID string `json:"id"`
	changes.Of
	Began  time.Time     `json:"began"`
	Ended  time.Time     `json:"ended,omitzero"`
	Undone string        `json:"undone,omitempty"`
	Undoes []string      `json:"undoes,omitempty"`
	Paths  []pathJSON    `json:"paths"`
	Gaps   []changes.Gap `json:"gaps,omitempty"`
}

type pathJSON struct {
	Path changes.Name `json:"path"`
	Was  string       `json:"was"` // new, changed, deleted, mode
}

func (o *changesOptions) run(_ context.Context, args []string) error {
	s, err := o.changeStore()
	if err != nil {
		return err
	}
	if o.Forget != "" {
		return o.forget(s)
	}
	if len(args) == 1 {
		c, err := s.Get(args[0])
		if err != nil {
			return fmt.Errorf("%w; obstat changes lists them", err)
		}
		return o.show(jsonOf([]*changes.Change{c}), func(sc *screen) { sc.change(s, c) })
	}
	since, err := readTime("--since", o.Since, time.Now())
	if err != nil {
		return err
	}
	list, err := s.List()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(c *changes.Change) bool {
		return !chosen(c, o.Session, o.Agent) || c.Began.Before(since)
	})
	more := len(list) - o.Limit
	if o.Limit > 0 && more > 0 {
		list = list[:o.Limit]
	}
	return o.show(jsonOf(list), func(sc *screen) {
		for _, c := range list {
			sc.changeLine(c)
		}
		switch {
		case len(list) == 0:
			sc.printf("no change of a call is kept\n")
		case o.Limit > 0 && more > 0:
			sc.printf("%d more: obstat changes -n 0 shows all\n", more)
		}
	})
}

func chosen(c *changes.Change, session, agent string) bool {
	return (session == "" || c.Session == session) && (agent == "" || c.Agent == agent)
}

func (o *changesOptions) forget(s *changes.Store) error {
	path, err := filepath.Abs(o.Forget)
	if err != nil {
		return err
	}
	if _, err := o.accept(stateHome(), "Forget what is kept of "+path+"?", true); err != nil {
		return err
	}
	n, err := s.Forget(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.IO.Out, "forgotten: %s\n", plural(n, "earlier state"))
	return nil
}

func jsonOf(list []*changes.Change) changesJSON {
	out := changesJSON{1, []changeJSON{}}
	for _, c := range list {
		j := changeJSON{ID: c.ID, Of: c.Of, Began: c.Began, Ended: c.Ended, Undone: c.Undone, Undoes: c.Undoes,
			Gaps: c.Gaps, Paths: []pathJSON{}}
		for _, d := range c.Differences() {
			j.Paths = append(j.Paths, pathJSON{d.Path, wordOf(&d.Before, &d.After)})
		}
		out.Changes = append(out.Changes, j)
	}
	return out
}

// wordOf says in a word how a path changed.
func wordOf(before, after *changes.State) string {
	switch {
	case before.Kind == changes.None:
		return "new"
	case after.Kind == changes.None:
		return "deleted"
	case before.Kind != after.Kind:
		return string(after.Kind) + " now"
	case before.Digest == after.Digest && before.Target == after.Target:
		return "mode"
	}
	return "changed"
}

// shortID is the end of an ID, by which a person names the change.
func shortID(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

// changeLine is a change in the list.
func (s *screen) changeLine(c *changes.Change) {
	diffs := c.Differences()
	state := plural(len(diffs), "path")
	switch {
	case c.Undone != "":
		state += ", taken back"
	case c.Ended.IsZero():
		state = "not reported to have ended"
	}
	head := fmt.Sprintf("%s  %s  %s  %s", s.io.paint(bold, shortID(c.ID)), c.Began.Local().Format(time.DateTime),
		visible(c.Agent), state)
	s.printf("%s\n  %s\n", head, clip(visible(c.Text), s.width-2))
	for i, g := range c.Gaps {
		if i == 2 {
			s.faint(fmt.Sprintf("and %d more that cannot be taken back", len(c.Gaps)-i))
			break
		}
		head := "cannot be taken back: "
		if g.Stays {
			head = "stays when it is taken back: "
		}
		s.printf("  %s\n", s.io.paint(dim, clip(head+visible(g.String()), s.width-2)))
	}
}

// change shows one change with its differences.
func (s *screen) change(store *changes.Store, c *changes.Change) {
	s.changeLine(c)
	s.printf("  %s\n", clip(visible(c.Reason), s.width-2))
	for _, d := range c.Differences() {
		s.difference(store, string(d.Path), &d.Before, &d.After)
	}
}

// difference shows how one path differs between two states.
func (s *screen) difference(store *changes.Store, path string, from, to *changes.State) {
	s.printf("\n%s  %s\n", s.io.paint(bold, visible(path)), wordOf(from, to))
	if from.Mode != to.Mode && from.Kind != changes.None && to.Kind != changes.None {
		s.printf("  mode %s, then %s\n", from.Mode, to.Mode)
	}
	a, okA := textOf(store, path, from)
	b, okB := textOf(store, path, to)
	if okA && okB && a != b {
		s.diff(display.Diff(a, b))
	}
}

const mostShown = 256 << 10

// textOf returns the text of a state that is kept, or that the path has now.
func textOf(store *changes.Store, path string, st *changes.State) (text string, ok bool) {
	switch st.Kind {
	case changes.None, changes.Dir:
		return "", true
	case changes.Link:
		return string(st.Target), true
	case changes.File:
		b, err := store.Contents(st.Digest, mostShown)
		if err != nil && st.Size <= mostShown {
			if b, err = os.ReadFile(path); err == nil && changes.DigestOf(b) != st.Digest {
				return "", false
			}
		}
		return string(b), err == nil && utf8.Valid(b)
	}
	return "", false
}

// undoOptions are the options of obstat undo.
type undoOptions struct {
	*Factory
	Session string `flag:"session"`
	Since   string `flag:"since"`
	Yes     bool   `flag:"yes"`
	Look    bool   `flag:"look"`
	Merge   bool   `flag:"merge"`
}

func newUndo(f *Factory) *cobra.Command {
	o := &undoOptions{Factory: f}
	return command("undo", some(0, -1), o, o.run)
}

func (o *undoOptions) run(ctx context.Context, args []string) error {
	s, err := o.changeStore()
	if err != nil {
		return err
	}
	list, only, err := o.chosen(s, args)
	if err != nil {
		return err
	}
	plan, err := s.Plan(list, only...)
	if err != nil {
		return err
	}
	if o.Merge {
		if err := plan.Merge(); err != nil {
			return err
		}
	}
	if !o.jsonFlag {
		o.shows(s, plan)
	}
	switch {
	case len(plan.Against) > 0:
		return againstAll(plan)
	case len(plan.Steps) == 0:
		return errors.New("there is nothing to take back: every path is as it was before")
	case o.Look:
		return nil
	}
	question := fmt.Sprintf("Put %s back?", plural(len(plan.Steps), "path"))
	if _, err := o.accept(commonDir(plan), question, o.Yes); err != nil {
		return err
	}
	return o.apply(ctx, plan)
}

// againstAll says everything that speaks against a plan.
func againstAll(plan *changes.Plan) error {
	var lines []string
	hint := ""
	for _, g := range plan.Against {
		lines = append(lines, g.String())
		if plan.MayMerge(g) {
			hint = "\nobstat undo --merge keeps later lines where they are others than those that the call changed"
		}
	}
	return fmt.Errorf("nothing was put back, for %w:\n  %s%s", changes.ErrAgainst, strings.Join(lines, "\n  "), hint)
}

// chosen returns the changes that the arguments name, and the paths that they are held to.
func (o *undoOptions) chosen(s *changes.Store, args []string) (list []*changes.Change, only []string, err error) {
	since, err := readTime("--since", o.Since, time.Now())
	if err != nil {
		return nil, nil, err
	}
	for _, arg := range args {
		c, err := s.Get(arg)
		if err == nil {
			list = append(list, c)
			continue
		}
		path, absErr := filepath.Abs(arg)
		if !errors.Is(err, changes.ErrUnknown) || absErr != nil {
			return nil, nil, err
		}
		if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(real, filepath.Base(path))
		}
		only = append(only, path)
	}
	if len(list) > 0 {
		return list, only, nil
	}
	all, err := s.List()
	all = slices.DeleteFunc(all, func(c *changes.Change) bool {
		return c.Undone != "" || !chosen(c, o.Session, "") || c.Began.Before(since) || len(c.Undoes) > 0 && len(only) == 0 ||
			!touches(c, only)
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no such change is kept; obstat changes lists them")
	}
	if len(all) > 1 && o.Session == "" && o.Since == "" {
		all = all[:1] // the latest
	}
	return all, only, err
}

// touches tells whether a change is on one of these paths, or below.
func touches(c *changes.Change, only []string) bool {
	if len(only) == 0 {
		return true
	}
	return slices.ContainsFunc(c.Differences(), func(d changes.Difference) bool {
		return slices.ContainsFunc(only, func(p string) bool { return paths.Inside(p, string(d.Path)) })
	})
}

// shows shows what would be put back.
func (o *undoOptions) shows(s *changes.Store, plan *changes.Plan) {
	sc := newScreen(o.IO)
	for _, c := range plan.Changes {
		sc.changeLine(c)
	}
	for _, g := range plan.Stay {
		sc.printf("\n%s\n", clip(visible("stays as it is: "+g.String()), sc.width))
	}
	if plan.Unsure {
		sc.printf("\nAn agent did not report that its call ended: later changes of these paths would go, too.\n")
	}
	for _, step := range plan.Steps {
		sc.difference(s, string(step.Path), &step.Now, &step.To)
	}
	sc.printf("\n")
	sc.flush(o.IO.Out)
}

// commonDir is the directory that a plan changes something in.
func commonDir(plan *changes.Plan) string {
	dir := filepath.Dir(string(plan.Steps[0].Path))
	for _, s := range plan.Steps {
		for !strings.HasPrefix(string(s.Path), strings.TrimSuffix(dir, "/")+"/") {
			dir = filepath.Dir(dir)
		}
	}
	return dir
}

// undoneJSON is the output of obstat undo --json.
type undoneJSON struct {
	V      int        `json:"v"`
	ID     string     `json:"id"` // of the change that taking back made
	Undone []string   `json:"undone"`
	Paths  []pathJSON `json:"paths"`
}

// apply puts the paths back, and writes that down.
func (o *undoOptions) apply(ctx context.Context, plan *changes.Plan) error {
	out := undoneJSON{V: 1, Paths: []pathJSON{}}
	for _, c := range plan.Changes {
		out.Undone = append(out.Undone, c.ID)
	}
	for _, s := range plan.Steps {
		out.Paths = append(out.Paths, pathJSON{s.Path, wordOf(&s.Now, &s.To)})
	}
	store, err := (&storeOptions{}).open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	c, err := plan.Apply(changes.Of{Call: "undo", Text: "obstat undo " + strings.Join(shortIDs(out.Undone), " "),
		Dir: commonDir(plan), Reason: "by " + userName()})
	if err != nil {
		return err
	}
	out.ID = c.ID
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Undo, User: userName(), Dir: c.Dir, Verdict: "taken back",
		Reason: ledger.Clip(fmt.Sprintf("%s put back by %s", plural(len(plan.Steps), "path"), userName()))}
	rec.Detail, _ = json.Marshal(out) // texts
	if err := store.Append(ctx, rec); err != nil {
		return fmt.Errorf("it was put back, but the ledger cannot be written: %w", err)
	}
	return o.show(out, func(sc *screen) {
		sc.printf("%s put back; obstat undo %s takes that back\n", plural(len(plan.Steps), "path"), shortID(c.ID))
	})
}

func shortIDs(ids []string) (out []string) {
	for _, id := range ids {
		out = append(out, shortID(id))
	}
	return out
}
