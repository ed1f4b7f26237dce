package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/face/report"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
)

// diffOptions are the options of obstat policy diff.
type diffOptions struct {
	*Factory
	formOptions
	Policy  policyOptions
	Store   storeOptions
	Since   string `flag:"since"`
	Most    int    `flag:"most"`
	Against string `flag:"against"` // revision that every file is compared with
	since   time.Time
}

func newDiff(f *Factory) *cobra.Command {
	o := &diffOptions{Factory: f, Most: 10}
	return command("policy diff", some(1, -1), o, o.run)
}

// diffJSON is the output of `obstat policy diff --json`.
type diffJSON struct {
	*diff.Report
	Files  []string       `json:"files"`
	Ledger *replay.Report `json:"ledger,omitempty"`
	// Limits are the lines of limit: that are gone or new: "gone: 20 asks per day".
	Limits []string `json:"limits,omitempty"`
}

func (o *diffOptions) run(ctx context.Context, args []string) (err error) {
	if err := o.readForm(o.Factory); err != nil {
		return err
	}
	if o.since, err = readTime("--since", o.Since, time.Now()); err != nil {
		return err
	}
	switch {
	case o.Against != "":
		return o.against(ctx, args)
	case len(args) > 2:
		return usagef("two sides are compared, not %d; --against REVISION takes any number of files", len(args))
	case len(args) == 1:
		args = []string{"HEAD:" + args[0], args[0]}
		return o.report(o.compare(ctx, args, [2]string{"HEAD:" + beside(args[1]), args[1]}))
	}
	return o.report(o.compare(ctx, args, [2]string(args)))
}

// against compares each file with its state at a revision. A file that the revision does not have is
// told and compared with nothing; one that is gone is told as looser.
func (o *diffOptions) against(ctx context.Context, files []string) error {
	if err := exec.CommandContext(ctx, "git", "rev-parse", "--quiet", "--verify", "--end-of-options",
		o.Against+"^{commit}").Run(); err != nil {
		return usagef("git has no revision %s here: fetch it first, as in `git fetch origin main`", o.Against)
	}
	var all []compared
	for _, file := range files {
		c := compared{names: []string{o.Against + ":" + file, file}}
		_, was := atRevision(ctx, o.Against, beside(file))
		_, now := os.Stat(file)
		switch gone := errors.Is(now, fs.ErrNotExist); {
		case gone && was != nil:
			return obstat.Errors{dialect.IOError(file, now)}
		case gone:
			c.other = &report.Finding{Rule: "gone", Pos: obstat.Pos{File: file},
				Msg: "the policy is taken out: its denials and questions go with it"}
		case was != nil:
			c.other = &report.Finding{Rule: "new", Pos: obstat.Pos{File: file}, Warn: true,
				Msg: "the policy is new: " + o.Against + " has none to compare it with"}
		default:
			one, err := o.compare(ctx, c.names, [2]string{o.Against + ":" + beside(file), file})
			if err != nil { // the others are compared all the same
				e := obstat.ErrorsOf(err)[0]
				c.other = &report.Finding{Rule: "broken", Pos: obstat.Pos{File: file, Line: e.Pos.Line},
					Msg: "it cannot be compared: " + e.Error()}
				break
			}
			c = one[0]
		}
		all = append(all, c)
	}
	return o.report(all, nil)
}

// beside writes the name of a file so that git finds it from the current directory, not from the
// root of the repository: `./obstat.yaml`.
func beside(file string) string {
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(file) {
		if rel, err := filepath.Rel(wd, file); err == nil {
			file = rel
		}
	}
	return "./" + filepath.ToSlash(filepath.Clean(file))
}

// compared is two sides and the calls that they decide differently.
type compared struct {
	names    []string
	out      diffJSON
	findings []report.Finding
	other    *report.Finding // in place of a comparison
}

// compare compares two sides, which are read as given and told by their names.
func (o *diffOptions) compare(ctx context.Context, names []string, read [2]string) ([]compared, error) {
	var sides [2]*dialect.Loaded
	for i := range sides {
		var err error
		if sides[i], err = o.side(ctx, &o.Policy, read[i]); err != nil {
			return nil, err
		}
	}
	was, now := sides[0], sides[1]
	out := diffJSON{Files: names}
	store, err := o.Store.openLog(ctx, o.IO)
	switch {
	case err == nil:
		defer store.Close()
		if out.Ledger, err = replay.Run(store.Records(ctx, ledger.Query{Since: o.since}), now.Policy,
			was.Policy); err != nil {
			return nil, err
		}
	case o.Store.Path != "":
		return nil, err // it was asked for
	}
	out.Report = diff.Compare(was.Policy, now.Policy, nil)
	c := compared{names: names, out: out}
	for i := range out.Regions {
		r := &out.Regions[i]
		at := foundAt(r, was, now)
		r.WasBy.Pos.File = named(r.WasBy.Pos.File, was, names[0])
		r.NowBy.Pos.File = named(r.NowBy.Pos.File, now, names[1])
		c.findings = append(c.findings, regionFinding(r, at))
	}
	c.limits(was, now)
	return []compared{c}, nil
}

// limits tells the lines of limit: that only one side has: without one, calls are allowed that were not.
func (c *compared) limits(was, now *dialect.Loaded) {
	only := func(a, b *dialect.Loaded, tell func(r *obstat.Rule)) {
		for i := range a.Program.Rules[obstat.ListLimit] {
			r := &a.Program.Rules[obstat.ListLimit][i]
			if !slices.ContainsFunc(b.Program.Rules[obstat.ListLimit], func(o obstat.Rule) bool { return r.Same(&o) }) {
				tell(r)
			}
		}
	}
	only(was, now, func(r *obstat.Rule) {
		at := foundAt(&diff.Region{WasBy: diff.By{Pos: r.Pos}}, was, now)
		c.out.Limits = append(c.out.Limits, "gone: "+r.String())
		c.findings = append(c.findings, report.Finding{Rule: "looser", Pos: at,
			Msg: "looser: the limit is gone: " + r.String()})
	})
	only(now, was, func(r *obstat.Rule) {
		c.out.Limits = append(c.out.Limits, "new: "+r.String())
		c.findings = append(c.findings, report.Finding{Rule: "stricter", Warn: true, Pos: r.Pos,
			Msg: "stricter: the limit is new: " + r.String()})
	})
}

// foundAt returns the place of a region in the new files: the rule that decides now, else where the
// rule stood that decided, else the first line that is another.
func foundAt(r *diff.Region, was, now *dialect.Loaded) obstat.Pos {
	if r.NowBy.Pos.IsValid() && slices.Contains(now.Input.Names(), r.NowBy.Pos.File) {
		return r.NowBy.Pos
	}
	last := func(l *dialect.Loaded) *dialect.File { return &l.Input.Files[len(l.Input.Files)-1] }
	old, text := last(was), last(now)
	for i := range was.Input.Files {
		if was.Input.Files[i].Name == r.WasBy.Pos.File && i < len(now.Input.Files) {
			old, text = &was.Input.Files[i], &now.Input.Files[i]
		}
	}
	line := r.WasBy.Pos.Line
	if old.Name != r.WasBy.Pos.File {
		line = 0
	}
	return obstat.Pos{File: text.Name, Line: display.Moved(string(old.Data), string(text.Data), line)}
}

// regionFinding tells a region as a finding: `npm publish` was asked about and is allowed now.
func regionFinding(r *diff.Region, at obstat.Pos) report.Finding {
	f := report.Finding{Rule: "stricter", Warn: true, Pos: at}
	if r.Looser {
		f.Rule, f.Warn = "looser", false
	}
	by := func(b *diff.By) string {
		if b.Rule != "" {
			return b.Rule + " at " + b.Pos.String()
		}
		return b.Reason
	}
	f.Msg = fmt.Sprintf("%s: %s goes from %s to %s", f.Rule, visible(explain.AsChecked(r.Call)), r.Was, r.Now)
	if r.Call.Mode != "" {
		f.Msg += " in mode " + visible(string(r.Call.Mode))
	}
	f.Hint = fmt.Sprintf("was: %s\nnow: %s", visible(by(&r.WasBy)), visible(by(&r.NowBy)))
	return f
}

// report prints comparisons and ends with the code of the worst.
func (o *diffOptions) report(all []compared, err error) error {
	if err != nil {
		return err
	}
	code, findings, files := ExitOK, []report.Finding{}, []string{}
	for i := range all {
		c := &all[i]
		files = append(files, c.names[1])
		if c.other != nil {
			c.findings = []report.Finding{*c.other}
		}
		for _, f := range c.findings {
			switch {
			case f.Rule == "broken":
				code = ExitError
			case !f.Warn:
				code = worse(code, ExitAsk)
			}
		}
		findings = append(findings, c.findings...)
		if o.Format != "" {
			continue
		}
		if err := o.showCompared(c, len(all) > 1); err != nil {
			return err
		}
	}
	if o.Format != "" {
		if err := o.writeForm(o.Factory, files, findings); err != nil {
			return err
		}
	}
	return done(code)
}

// showCompared prints one comparison.
func (o *diffOptions) showCompared(c *compared, several bool) error {
	if c.other != nil {
		v := map[string]any{"v": 1, "files": c.names, "looser": 0, "stricter": 0, "says": c.other.Msg}
		if !c.other.Warn {
			v["looser"] = 1
		}
		return o.show(v, func(s *screen) { s.printf("%s: %s\n", visible(c.names[1]), visible(c.other.Msg)) })
	}
	return o.show(c.out, func(s *screen) {
		if several {
			s.printf("%s\n", s.io.paint(bold, visible(c.names[1])))
		}
		s.regions(&c.out, o.Most)
		for _, text := range c.out.Limits {
			s.printf("limit %s\n", visible(text))
		}
	})
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
		if _, name, ok := strings.Cut(files[i].Name, ":"); ok {
			if _, err := read(files[i].Name); err != nil {
				files[i].Name = path.Clean(name) // dialects tell their files by name
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
	for _, p := range slices.Compact([]string{path, "./" + strings.TrimPrefix(path, "./")}) {
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

// region prints one region of a comparison: `stricter  allow → ask`, the smallest call, and the rules that
// decided it before and decide it now.
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
	s.text("call", explain.AsChecked(r.Call))
	s.decidedBy("was", &r.WasBy)
	s.decidedBy("now", &r.NowBy)
}

func (s *screen) decidedBy(label string, by *diff.By) {
	text := by.Reason
	if by.Rule != "" {
		text = "by " + by.Rule + "  " + by.Pos.String()
	}
	s.text(label, text)
}
