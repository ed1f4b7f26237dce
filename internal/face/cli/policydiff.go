package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
)

// diffOptions are the options of obstat policy diff.
type diffOptions struct {
	*Factory
	Policy policyOptions
	Store  storeOptions
	Since  string   `flag:"since"`
	Most   int      `flag:"most"`
	Names  []string // of the two sides
}

func newDiff(f *Factory) *cobra.Command {
	o := &diffOptions{Factory: f, Most: 10}
	return command("policy diff", some(1, 2), o, o.run)
}

// diffJSON is the output of `obstat policy diff --json`.
type diffJSON struct {
	*diff.Report
	Files  []string       `json:"files"`
	Ledger *replay.Report `json:"ledger,omitempty"`
}

func (o *diffOptions) run(ctx context.Context, args []string) error {
	if o.Names = args; len(args) == 1 {
		o.Names = []string{"HEAD:" + args[0], args[0]}
	}
	since, err := readTime("--since", o.Since, time.Now())
	if err != nil {
		return err
	}
	var sides [2]*dialect.Loaded
	for i, name := range o.Names {
		if sides[i], err = o.side(ctx, &o.Policy, name); err != nil {
			return err
		}
	}
	was, now := sides[0], sides[1]
	out := diffJSON{Files: o.Names}
	store, err := o.Store.openLog(ctx, o.IO)
	switch {
	case err == nil:
		defer store.Close()
		if out.Ledger, err = replay.Run(store.Records(ctx, ledger.Query{Since: since}), now.Policy, was.Policy); err != nil {
			return err
		}
	case o.Store.Path != "":
		return err // it was asked for
	}
	out.Report = diff.Compare(was.Policy, now.Policy, nil)
	for i := range out.Regions {
		r := &out.Regions[i]
		r.WasBy.Pos.File = named(r.WasBy.Pos.File, was, o.Names[0])
		r.NowBy.Pos.File = named(r.NowBy.Pos.File, now, o.Names[1])
	}
	if err := o.show(out, func(s *screen) { s.regions(&out, o.Most) }); err != nil || out.Looser == 0 {
		return err
	}
	return done(ExitAsk)
}

// named returns the name of a file as the arguments have it: a revision's file is read under the
// name of the file alone.
func named(file string, l *dialect.Loaded, arg string) string {
	if file != "" && len(l.Input.Files) == 1 && l.Input.Files[0].Name == file {
		return arg
	}
	return file
}

// side loads one side of a comparison: FILE, REVISION:FILE, or several files with commas between,
// lowest precedence first.
func (f *Factory) side(ctx context.Context, po *policyOptions, arg string) (*dialect.Loaded, error) {
	opts, err := po.options()
	if err != nil {
		return nil, err
	}
	names := []string{arg}
	if _, err := read(arg); errors.Is(err, fs.ErrNotExist) {
		names = strings.Split(arg, ",")
	}
	files, err := dialect.ReadFiles(names, func(name string) ([]byte, error) {
		data, err := read(name)
		if rev, path, ok := strings.Cut(name, ":"); ok && errors.Is(err, fs.ErrNotExist) && rev != "" && path != "" {
			return atRevision(ctx, rev, path)
		}
		return data, err
	})
	if err != nil {
		return nil, err
	}
	for i := range files {
		if _, path, ok := strings.Cut(files[i].Name, ":"); ok {
			if _, err := read(files[i].Name); err != nil {
				files[i].Name = path // dialects tell their files by name
			}
		}
	}
	d, err := all.Of(po.Dialect, files)
	if err != nil {
		return nil, err
	}
	home, _ := f.World.Home("")
	return dialect.Load(d, &dialect.Input{Files: files, Options: opts, Home: home})
}

// atRevision reads a file as it was at a revision: from the root of the repository, as git has it,
// or from the current directory.
func atRevision(ctx context.Context, rev, path string) ([]byte, error) {
	var first error
	for _, p := range []string{path, "./" + path} {
		var out, words bytes.Buffer
		cmd := exec.CommandContext(ctx, "git", "show", "--end-of-options", rev+":"+p)
		cmd.Stdout, cmd.Stderr = &out, &words
		err := cmd.Run()
		if err == nil {
			return out.Bytes(), nil
		}
		first = cmp.Or(first, fmt.Errorf("git has no %s at %s: %s", path, rev,
			cmp.Or(strings.TrimSpace(words.String()), err.Error())))
	}
	return nil, first
}

// regions shows the regions that differ, and the calls of the ledger that flip.
func (s *screen) regions(d *diffJSON, most int) {
	if len(d.Regions) == 0 {
		s.printf("%s and %s decide alike: %s tried, none flips\n", visible(d.Files[0]), visible(d.Files[1]),
			plural(d.Tried, "call"))
	} else {
		s.printf("%s looser, %s stricter\n", s.io.paint(bold, plural(d.Looser, "region")),
			s.io.paint(bold, plural(d.Tighter, "region")))
	}
	s.first(len(d.Regions), most, "shows", func(i int) { s.region(&d.Regions[i]) })
	if d.Cut {
		s.printf("\nthere may be more: the search was cut short\n")
	}
	rep := d.Ledger
	if rep == nil || rep.Calls == 0 {
		return
	}
	n := rep.Calls - rep.Same
	s.printf("\nof %s in the ledger %d %s\n", plural(rep.Calls, "call"), n,
		map[bool]string{true: "flips", false: "flip"}[n == 1])
	slices.SortStableFunc(rep.Flips, func(a, b replay.Flip) int { return b.Count - a.Count })
	s.first(len(rep.Flips), most, "shows", func(i int) { s.flip(&rep.Flips[i]) })
}

// region shows one region: the way, the smallest call, and the rules before and now.
func (s *screen) region(r *diff.Region) {
	way := "stricter"
	if r.Looser {
		way = "looser"
	}
	mode := ""
	if r.Call.Mode != "" {
		mode = " in mode " + string(r.Call.Mode)
	}
	s.printf("\n%s  %s → %s%s\n", s.io.paint(bold, way), s.io.paint(verdictInk(r.Was), r.Was.String()),
		s.io.paint(verdictInk(r.Now), r.Now.String()), visible(mode))
	s.text("call", witness(r.Call))
	s.decidedBy("was", &r.WasBy)
	s.decidedBy("now", &r.NowBy)
}

// witness writes a call as obstat check takes it.
func witness(c *obstat.Call) string {
	if len(c.Subjects) > 0 {
		return "the action " + c.Subjects[0]
	}
	out := c.Tool + " " + string(c.Input)
	if text := explain.TextOf(c); text != c.Tool && text != string(c.Input) {
		out = c.Tool + " " + text
	}
	for at := range obstat.Circumstances() {
		if values := at.Values(c); at.Flag != "" && at.Name != "mode" && len(values) > 0 { // the mode has been told
			out += " --" + at.Name + " " + agent.Quote(strings.Join(values, ","))
		}
	}
	return out
}

func (s *screen) decidedBy(label string, by *diff.By) {
	text := by.Reason
	if by.Rule != "" {
		text = "by " + by.Rule + "  " + by.Pos.String()
	}
	s.text(label, text)
}
