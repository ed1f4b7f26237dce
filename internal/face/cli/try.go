package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/paths"
)

// tryOptions are the options of obstat try.
type tryOptions struct {
	*Factory
	Policy policyOptions
	Roots  []string `flag:"root"`
	Agent  string   // whose call it is
	Apply  bool     `flag:"apply"`
	Only   []string `flag:"only"`

	run  *confined.Run
	list []tryChange
}

func newTry(f *Factory) *cobra.Command {
	o := &tryOptions{Factory: f}
	cmd := command("try", some(1, -1), o, o.try)
	cmd.Flags().SetInterspersed(false) // flags behind the command are its own
	return cmd
}

// tryJSON is the output of obstat try --json.
type tryJSON struct {
	V       int           `json:"v"`
	Level   confine.Level `json:"level"`
	Exit    int           `json:"exit"`
	Changes []tryChange   `json:"changes"`
	Refused []string      `json:"refused,omitempty"`
}

// A tryChange is one path that the command changed, in its layer.
type tryChange struct {
	Path    string             `json:"path"`
	Kind    confine.ChangeKind `json:"kind"`
	Type    string             `json:"type"`
	Verdict string             `json:"verdict"`
	Reason  string             `json:"reason,omitempty"`
	Applied bool               `json:"applied"`
	Diff    []string           `json:"diff,omitempty"` // lines, as `- old` and `+ new`
}

func (o *tryOptions) try(ctx context.Context, args []string) error {
	state, err := statedir.Dir(os.Getenv)
	if err != nil {
		return err
	}
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	defer p.close()
	for i, name := range o.Only {
		if o.Only[i], err = filepath.Abs(name); err != nil {
			return err
		}
	}
	by := &runOptions{Factory: o.Factory, Policy: o.Policy, Roots: o.Roots, Agent: o.Agent,
		Command: shellText(args), Getenv: os.Getenv}
	g, call, b, err := by.bounds(ctx, p)
	if err != nil {
		return err
	}
	if b.Profile.Workspace.Mode != confine.Overlay {
		return by.notStarted(fmt.Errorf("there is no layer to try it in, its changes would count at once"))
	}
	o.run = &confined.Run{Command: by.Command, Dir: p.Dir, Bounds: b, State: state, Try: true}
	if err := o.settle(); err != nil {
		return by.notStarted(err)
	}
	keep, stop := by.prepare(ctx, g, call, o.run)
	defer stop()
	if o.jsonFlag {
		o.run.Stdout = o.IO.Err
	}
	o.run.Before = func(list []confine.Change) {
		o.chooses(list)
		keep.Before(list)
	}
	end, err := o.run.Do(ctx)
	if end == nil {
		return by.notStarted(err)
	}
	by.keptFor(keep)
	return o.report(end, err)
}

// report says what came of it.
func (o *tryOptions) report(end *confined.Ended, err error) error {
	if err != nil {
		fmt.Fprintf(o.IO.Err, "obstat: %s\n", visible(err.Error()))
	}
	applied := map[string]bool{}
	for _, c := range end.Changes {
		applied[c.Path] = c.Outcome == confine.Committed
	}
	n := 0
	for i := range o.list {
		if o.list[i].Applied = applied[o.list[i].Path]; o.list[i].Applied {
			n++
		}
	}
	out := tryJSON{V: 1, Level: end.Level, Exit: end.Exit, Changes: append([]tryChange{}, o.list...)}
	for _, f := range end.Told {
		if f.Kind != "write" && f.Kind != "delete" {
			out.Refused = append(out.Refused, f.String())
		}
	}
	if o.jsonFlag {
		o.show(out, func(*screen) {})
		return done(ExitCode(end.Exit))
	}
	for _, text := range out.Refused {
		fmt.Fprintf(o.IO.Err, "obstat: %s\n", visible(text))
	}
	switch {
	case len(o.list) == 0:
		fmt.Fprintln(o.IO.Err, "obstat: it changed no file of the workspace")
	case n == 0:
		fmt.Fprintln(o.IO.Err, "obstat: nothing was applied")
	default:
		fmt.Fprintf(o.IO.Err, "obstat: applied %s; obstat undo takes them back\n", plural(n, "change"))
	}
	return done(ExitCode(end.Exit))
}

// chooses shows the changes, and drops those that are not to be applied.
func (o *tryOptions) chooses(list []confine.Change) {
	real := slices.DeleteFunc(pointers(list), func(c *confine.Change) bool {
		return c.Kind == confine.Touched || c.Type == "socket" || c.Why == "" && c.Outcome == ""
	})
	for _, c := range real {
		o.list = append(o.list, o.judged(c))
		if len(real) <= maxTriedDiffs {
			o.list[len(o.list)-1].Diff = layerDiff(c)
		}
	}
	if !o.jsonFlag && len(real) > 0 {
		o.shows(real)
	}
	keep := o.answers(real)
	for i, c := range real {
		if !keep[i] && c.Outcome == confine.Committed {
			c.Outcome, c.Why = confine.Dropped, "not chosen"
		}
	}
}

func pointers(list []confine.Change) (out []*confine.Change) {
	for i := range list {
		out = append(out, &list[i])
	}
	return out
}

// judged says what the policy says of a change.
func (o *tryOptions) judged(c *confine.Change) tryChange {
	t := tryChange{Path: c.Path, Kind: c.Kind, Type: c.Type, Verdict: "allow"}
	switch why := o.run.Asks(c.Path); {
	case c.Outcome != confine.Committed:
		t.Verdict, t.Reason = "deny", o.run.Why(c)
	case why != "":
		t.Verdict, t.Reason = "ask", why
	}
	return t
}

// shows shows the changes with their verdicts and differences.
func (o *tryOptions) shows(list []*confine.Change) {
	s := newScreen(o.IO)
	s.printf("\n")
	for i, c := range list {
		t := &o.list[i]
		line := fmt.Sprintf("%-5s  %s  %s", t.Verdict, s.io.paint(bold, visible(o.short(c.Path))), c.Kind)
		if c.Type != "file" {
			line += " " + c.Type
		}
		if c.Target != "" {
			line += " to " + visible(c.Target)
		}
		s.printf("%s\n", line)
		if was, err := os.Lstat(c.Path); err == nil && c.Kind == confine.ModeChanged {
			s.printf("       %s, then %s\n", was.Mode().Perm(), c.Mode.Perm())
		}
		if t.Reason != "" {
			s.printf("       %s\n", s.io.paint(dim, clip(visible(t.Reason), s.width-7)))
		}
		if len(list) <= maxTriedDiffs {
			s.diff(t.Diff)
		}
	}
	s.printf("\n")
	s.flush(o.IO.Err)
}

func (o *tryOptions) short(path string) string {
	return strings.TrimPrefix(path, o.run.Bounds.Root+"/")
}

// maxTriedDiffs is the number of changes up to which their differences are shown.
const maxTriedDiffs = 20

// layerDiff returns how the layer's file differs from the workspace's.
func layerDiff(c *confine.Change) []string {
	if c.Type != "file" || c.Kind == confine.ModeChanged {
		return nil
	}
	before, okA := smallText(c.Path, c.Kind == confine.Created)
	after, okB := smallText(c.Layer, c.Kind == confine.Deleted)
	if !okA || !okB || before == after {
		return nil
	}
	return display.Diff(before, after)
}

// smallText reads a file that is text and not long; none where it is not there.
func smallText(name string, none bool) (string, bool) {
	if none {
		return "", true
	}
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > undo.MostShown {
		return "", false
	}
	b, err := os.ReadFile(name)
	return string(b), err == nil && utf8.Valid(b)
}

// answers returns which changes are to be applied.
func (o *tryOptions) answers(list []*confine.Change) []bool {
	keep := make([]bool, len(list))
	var may []int // that can be applied
	asks := 0
	for i, c := range list {
		if c.Outcome != confine.Committed || !o.inside(c.Path) {
			continue
		}
		may = append(may, i)
		if o.list[i].Verdict == "ask" {
			asks++
		}
		keep[i] = o.Apply && o.list[i].Verdict == "allow"
	}
	if o.Apply || len(may) == 0 || !o.IO.InTTY || o.jsonFlag {
		return keep
	}
	if who, err := o.person(o.run.Bounds.Root); err != nil || who == nil {
		return keep // an agent's terminal
	}
	fmt.Fprintf(o.IO.Err, "Apply %s (the policy asks about %d)? [a]ll, [s]ome, [N]one: ", plural(len(may), "change"), asks)
	switch o.IO.word() {
	case "a", "all":
		for _, i := range may {
			keep[i] = true
		}
	case "s", "some":
		for _, i := range may {
			fmt.Fprintf(o.IO.Err, "%s, %s? [y/N] ", visible(o.short(list[i].Path)), list[i].Kind)
			keep[i] = isYes(o.IO.word())
		}
	}
	return keep
}

func (o *tryOptions) inside(path string) bool {
	return len(o.Only) == 0 || slices.ContainsFunc(o.Only, func(top string) bool { return paths.Inside(top, path) })
}

// tryRequest runs the command of a request to see what it changes. Nothing of it counts: the question stays.
func (o *askOptions) tryRequest(ctx context.Context, r *approval.Request) {
	command := unseen(r, o.World)
	if command == "" {
		fmt.Fprintln(o.IO.Out, "it is not run to see: nothing about it is unknown, or a rule asks whatever it changes")
		return
	}
	io := *o.IO
	io.In, io.InTTY = strings.NewReader(""), false // the terminal is for the answer
	t := &tryOptions{Factory: &Factory{IO: &io, World: o.World}, Policy: policyOptions{Dir: r.Call.Dir},
		Roots: r.Call.Roots, Agent: r.Call.Agent}
	var code exit
	if err := t.try(ctx, []string{command}); err != nil && !errors.As(err, &code) {
		fmt.Fprintf(o.IO.Out, "it could not be run to see: %s\n", visible(err.Error()))
	}
}
