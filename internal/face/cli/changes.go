package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/changes"
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
	if err := f.settle(); err != nil {
		return nil, err
	}
	return undo.Store(os.Getenv)
}

// settle ends what a killed process had begun, and tells it.
func (f *Factory) settle() error {
	told, err := undo.Settle(os.Getenv)
	for _, text := range told {
		fmt.Fprintf(f.IO.Err, "obstat: %s\n", text)
	}
	return err
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
	Paths  []undo.Path   `json:"paths"`
	Gaps   []changes.Gap `json:"gaps,omitempty"`
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
	if err = o.told(err); err != nil {
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

// told says which changes cannot be read; the others are there all the same.
func (f *Factory) told(err error) error {
	if !errors.Is(err, changes.ErrTampered) {
		return err
	}
	fmt.Fprintf(f.IO.Err, "obstat: %s\n", visible(err.Error()))
	return nil
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
			Gaps: c.Gaps, Paths: undo.PathsOf(c)}
		out.Changes = append(out.Changes, j)
	}
	return out
}

// changeLine is a change in the list.
func (s *screen) changeLine(c *changes.Change) {
	diffs := c.Differences()
	state := plural(len(diffs), "path")
	switch {
	case c.Undone != "":
		state += ", taken back"
	case c.Ended.IsZero() && c.Asked:
		state = "asked about, and not reported to have run"
	case c.Ended.IsZero():
		state = "not reported to have ended"
	}
	head := fmt.Sprintf("%s  %s  %s  %s", s.io.paint(bold, changes.ShortID(c.ID)), c.Began.Local().Format(time.DateTime),
		visible(c.Agent), state)
	s.prose(head)
	s.printf("  %s\n", clip(visible(c.Text), s.width-2))
	if by := c.Reason; by != "" {
		s.printf("  %s\n", s.io.paint(dim, clip(visible(by), s.width-2)))
	}
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
	for _, d := range c.Differences() {
		s.difference(store, string(d.Path), &d.Before, &d.After)
	}
}

// difference shows how one path differs between two states.
func (s *screen) difference(store *changes.Store, path string, from, to *changes.State) {
	s.printf("\n%s  %s\n", s.io.paint(bold, visible(path)), undo.WordOf(from, to))
	if from.Mode != to.Mode && hasMode(from) && hasMode(to) {
		s.printf("  mode %s, then %s\n", from.Mode, to.Mode)
	}
	a, okA := undo.TextOf(store, path, from)
	b, okB := undo.TextOf(store, path, to)
	if okA && okB && a != b {
		s.diff(display.Diff(a, b))
	}
}

// hasMode tells whether a state has a mode to show; one of a link is never looked at.
func hasMode(st *changes.State) bool { return st.Kind == changes.File || st.Kind == changes.Dir }

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
	if _, err := o.accept(undo.CommonDir(plan), question, o.Yes); err != nil {
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
		switch {
		case plan.MayMerge(g):
			hint = "\nobstat undo --merge keeps later lines where they are others than those that the call changed"
		case hint == "" && len(plan.Steps) > 0:
			const text = "\nobstat undo %s PATH puts back no more than lies at or below a path: . for all that is kept here"
			hint = fmt.Sprintf(text, changes.ShortID(plan.Changes[0].ID))
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
		if arg == "" {
			return nil, nil, errors.New("an argument is empty: name a change or a path")
		}
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
	all, err := undo.Standing(s, o.Session, since, only)
	if err = o.told(err); err != nil {
		return nil, nil, err
	}
	kept := len(all)
	if o.Session == "" && len(only) == 0 {
		root, err := here()
		if err != nil {
			return nil, nil, err
		}
		all = slices.DeleteFunc(all, func(c *changes.Change) bool { return !undo.Here(c, root) })
	}
	switch {
	case len(all) > 0:
	case kept > 0:
		err = errors.New("no change of this project is left to take back; obstat changes lists those elsewhere")
	default:
		err = errors.New("no such change is left to take back; obstat changes lists those that are kept")
	}
	if len(all) > 1 && o.Session == "" && o.Since == "" {
		all = all[:1] // the latest
	}
	return all, only, err
}

// here returns the project of the current directory: the latest change may be that of another one's agent.
func here() (root string, err error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	return undo.ProjectOf(dir), err
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
	for _, c := range plan.Changes {
		if c.Asked && plan.Unsure {
			sc.prose("\nA person was asked about it, and it may not have run.")
			break
		}
	}
	if plan.Unsure {
		sc.prose("\nAn agent did not report that its call ended: later changes of these paths would go, too.")
	}
	for _, step := range plan.Steps {
		sc.difference(s, string(step.Path), &step.Now, &step.To)
	}
	sc.printf("\n")
	sc.flush(o.IO.Out)
}

// apply puts the paths back, and writes that down.
func (o *undoOptions) apply(ctx context.Context, plan *changes.Plan) error {
	store, err := (&storeOptions{}).open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	out, err := undo.TakeBack(ctx, plan, userName(), store)
	if err != nil {
		return err
	}
	return o.show(out, func(sc *screen) {
		sc.printf("%s put back; obstat undo %s takes that back\n", plural(len(out.Paths), "path"), changes.ShortID(out.ID))
	})
}
