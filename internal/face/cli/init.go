package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/guard/initial"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/suggest"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// initOptions are the options of obstat init.
type initOptions struct {
	*Factory
	Preset string `flag:"preset" words:"@presets"`
	Dir    string `flag:"dir C"`
	Yes    bool   `flag:"yes y"`
	DryRun bool   `flag:"dry-run"`
	Loose  bool   `flag:"loose"`
	User   bool   `flag:"user"`
	From   string `flag:"from"` // an agent: only its own rules are taken over
	// Confine is the word `confine:` of the draft, "" the preset's own; Over are judges that it outranks.
	Confine string   `flag:"confine" words:"code always off"`
	Over    []string `flag:"over" words:"auto-mode reviewer"`
	Store   storeOptions
	Getenv  func(string) string
	taken   []initial.Line // rules of agents' own files
}

func newInit(f *Factory) *cobra.Command {
	o := &initOptions{Factory: f, Preset: native.Balanced, Getenv: os.Getenv}
	return command("init", some(0, 0), o, o.run)
}

// initJSON is the output of `obstat init --json`.
type initJSON struct {
	V       int      `json:"v"`
	File    string   `json:"file"`
	Text    string   `json:"text"`
	Skipped []string `json:"skipped"` // rules that the policy does not say
	// Looser are calls that rules in force decide more strictly than the policy would.
	Looser  []diff.Region `json:"looser"`
	Written bool          `json:"written"`
}

func (o *initOptions) run(ctx context.Context, _ []string) error {
	if native.Preset(o.Preset) == "" {
		return usagef("there is no preset %q; the presets are %s", o.Preset, strings.Join(native.Presets(), ", "))
	}
	dir, err := o.dir(o.Dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, native.File)
	if o.User {
		if name, err = o.userFile(); err != nil {
			return err
		}
	}
	if old, err := textedit.ReadFile(name); err != nil || old != nil {
		return errors.Join(err, fmt.Errorf("%s is there already; `obstat policy suggest` finds rules for it, `obstat policy lint` looks through it", o.short(name)))
	}
	o.offer(ctx)
	draft, err := o.draft(ctx, dir, name)
	if err == nil && (o.Confine != "" || len(o.Over) > 0) {
		draft.Text, err = initial.Confine(draft.Text, cmp.Or(o.Confine, "code"), o.Over)
	}
	if err != nil {
		return err
	}
	out := initJSON{1, name, draft.Text, append([]string{}, draft.Skipped...), append([]diff.Region{}, draft.Looser...),
		false}
	if !o.jsonFlag {
		o.preview(name, draft)
	}
	if !o.DryRun {
		if err := o.accepts(draft.Looser); err != nil {
			return err
		}
		who, err := o.accept(name, "Write this?", o.Yes)
		if err != nil {
			return err
		}
		if err := o.write(ctx, name, dir, draft.Text, who); err != nil {
			return err
		}
		out.Written = true
	}
	if o.jsonFlag {
		return writeJSON(o.IO.Out, out)
	}
	if out.Written {
		o.IO.tell("\nwritten to " + visible(o.short(name)) + ", accepted, and in force for every agent here\n" +
			"to guard an agent: obstat install AGENT; to answer what it asks: obstat ask")
	}
	return nil
}

// offer asks a person at a terminal whether code is to run confined, where the machine can hold it, and whether that
// outranks the agents' own judges.
func (o *initOptions) offer(ctx context.Context) {
	silent := o.Confine != "" || o.Yes || o.DryRun || o.jsonFlag || !o.IO.InTTY
	if silent || o.Preset == native.Unattended || confine.Probe(ctx).Level != confine.LevelFull {
		return
	}
	o.IO.tell("Tests, builds and other code that cannot be looked into can run confined: the kernel of this " +
		"machine holds them to the rules below, and nothing is asked about them.")
	if o.Confine = "off"; !o.IO.yes("Run them confined?") {
		return
	}
	o.Confine = "code"
	o.IO.tell("In its auto mode Claude Code has a judge of its own, and Codex a reviewer of approvals.")
	if o.IO.yes("Shall a confined command run without them?") {
		o.Over = (obstat.OverAutoMode | obstat.OverReviewer).Words()
	}
}

// userFile returns the user's own policy.
func (o *initOptions) userFile() (string, error) {
	home, _ := o.World.Home("")
	places, err := native.Dialect{}.Places(&dialect.Where{Home: home, Getenv: o.Getenv})
	if err != nil {
		return "", err
	}
	if len(places) == 0 || places[0].Layer != dialect.LayerUser {
		return "", errors.New("the home directory is not known")
	}
	return places[0].Name, nil
}

// accepts has a person say yes to rules that become looser: at a terminal, or by --loose.
func (o *initOptions) accepts(looser []diff.Region) error {
	switch {
	case len(looser) == 0 || o.Loose:
		return nil
	case !o.Yes && o.IO.InTTY && o.IO.yes(fmt.Sprintf("%s in force would be looser, as shown. Write it all the same?",
		plural(len(looser), "rule"))):
		return nil
	}
	return fmt.Errorf("nothing was written: %s in force would be looser; --loose writes it all the same",
		plural(len(looser), "rule"))
}

// draft looks at the project, its agents' own rules and the asks of the past here.
func (o *initOptions) draft(ctx context.Context, dir, name string) (*initial.Draft, error) {
	heading := []string{"What agents may do in this project; deny comes before ask, ask before allow,",
		"and what no rule is about is asked about. Drafted by obstat init from the", "preset " + o.Preset +
			"; docs/dialects/native.md has the language."}
	if o.User {
		heading[0] = "What agents may do in all my projects; deny comes before ask, ask before allow,"
	}
	found, err := o.find(dir, name, nil)
	if err != nil {
		return nil, err
	}
	check := o.check(dir, name, found)
	if o.User {
		lines, left := o.carried("", found)
		return o.written(heading, lines, left, check)
	}
	lines, left := o.carried(dir, found)
	o.taken = lines
	lines = append(initial.Look(os.DirFS(dir)), lines...)
	if o.Confine != "" && o.Confine != "off" {
		lines = initial.Held(lines)
	}
	if first, err := initial.Write(o.Preset, heading, lines, nil); err == nil {
		lines = append(lines, o.asked(ctx, dir, first.Text)...)
	}
	return o.written(heading, lines, left, check)
}

func (o *initOptions) written(heading []string, lines []initial.Line, left []string,
	check *initial.Check) (*initial.Draft, error) {
	d, err := initial.Write(o.Preset, heading, lines, check)
	if err != nil {
		return nil, err
	}
	d.Skipped = append(d.Skipped, left...)
	return d, nil
}

// find returns the policies in force in a directory, as its files are, or as they are with a draft in the
// file of that name.
func (o *initOptions) find(dir, name string, draft []byte) (*policy.InForce, error) {
	home, _ := o.World.Home("")
	finder := &policy.Finder{NoPins: true}
	if draft != nil {
		finder.With = map[string][]byte{name: draft}
	}
	found, err := finder.Find(&policy.Where{Dir: dir, Home: home, Getenv: o.Getenv, Mine: true, Every: draft == nil})
	if err == nil {
		err = found.Err()
	}
	if err == nil && draft != nil && !slices.Contains(found.Files(), name) {
		err = fmt.Errorf("%s would not count here", o.short(name))
	}
	return found, err
}

// check compares the policies in force without the draft and with it, by the engine. The built-in policy is in force
// where there is none, and has no rule of a person's.
func (o *initOptions) check(dir, name string, found *policy.InForce) *initial.Check {
	home, _ := o.World.Home("")
	world := &obstat.Snapshot{HomeDir: home}
	var was []*obstat.Policy
	for _, p := range found.Policies {
		if p.Dialect.Name() != native.BuiltinName {
			was = append(was, p.Loaded.Policy)
		}
	}
	made, searches := &diff.Made{}, 0
	return &initial.Check{Home: home, Loosened: func(l *dialect.Loaded) ([]diff.Region, error) {
		if o.IO.OutTTY && len(was) > 0 && searches == 0 {
			fmt.Fprintln(o.IO.Err, "trying the draft against the rules in force …")
		}
		searches++
		after, err := o.find(dir, name, l.Input.Files[0].Data)
		if err != nil {
			return nil, err
		}
		regions := diff.Loosened(&diff.Draft{Was: was, Now: l.Policy, Dir: dir, Home: home, Made: made,
			Before: func(c *obstat.Call) obstat.Decision { return found.Decide(c, world).Decision },
			After:  func(c *obstat.Call) obstat.Decision { return after.Decide(c, world).Decision }})
		return regions, nil
	}}
}

// carried returns the rules of other files of a place, which stop counting where obstat.yaml decides: those of a
// project, or of the user's own files for "".
func (o *initOptions) carried(place string, found *policy.InForce) (lines []initial.Line, left []string) {
	for _, p := range found.Policies {
		ours := p.Dialect.Name() == native.Name || p.Dialect.Name() == native.BuiltinName
		if p.Place != place || ours || o.From != "" && !dialect.OwnedBy(p.Dialect, o.From) {
			continue
		}
		said, rest := convert.Sentences(p.Loaded)
		for _, s := range said {
			lines = append(lines, initial.Line{List: s.Verdict.String(), Sentence: s.Text,
				Why: "From " + o.short(s.From.File) + ".", Own: true, From: s.From})
		}
		for _, r := range rest {
			left = append(left, fmt.Sprintf("%s: %s %s: %s", o.short(p.Input.Names()...), r.Verdict, r.Rule, r.Why))
		}
	}
	return lines, left
}

// asked returns rules for calls that people were asked about here and allowed. A ledger that is not there, or
// cannot be read, has none.
func (o *initOptions) asked(ctx context.Context, dir, text string) (out []initial.Line) {
	l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File,
		Data: []byte(text)}}})
	if err != nil {
		return nil
	}
	store, err := o.Store.openLog(ctx, &IO{Out: io.Discard, Err: io.Discard})
	if err != nil {
		return nil
	}
	defer store.Close()
	here := func(yield func(*ledger.Record, error) bool) {
		for r, err := range store.Records(ctx, ledger.Query{}) {
			if (err != nil || r.Dir == dir || strings.HasPrefix(r.Dir, dir+string(filepath.Separator))) && !yield(r, err) {
				return
			}
		}
	}
	rep, err := suggest.Suggest(l, here, nil)
	if err != nil {
		return nil
	}
	for _, s := range rep.List {
		for _, rule := range s.Rules {
			out = append(out, initial.Line{List: obstat.Allow.String(), Sentence: rule,
				Why: "Asked about here before, and allowed."})
		}
	}
	return out
}

// preview shows the draft.
func (o *initOptions) preview(name string, d *initial.Draft) {
	w := o.IO.Out
	fmt.Fprintf(w, "%s\n\n", o.IO.paint(bold, visible(o.short(name))))
	for line := range strings.Lines(d.Text) {
		ink := func(s string) string { return s }
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			ink = func(s string) string { return o.IO.paint(dim, s) }
		}
		for _, l := range o.IO.hung("  " + visible(strings.TrimRight(line, "\n"))) {
			fmt.Fprintln(w, ink(l))
		}
	}
	o.summary(d)
	o.looser(d.Looser)
}

// maxSkipped is how many rules that are not taken over are shown.
const maxSkipped = 8

// summary says in the order of a person's thoughts: which rules of agents' own files are in the draft, denials first,
// which are not, and whether a call would be freer.
func (o *initOptions) summary(d *initial.Draft) {
	counts := map[string][3]int{}
	for _, l := range o.taken {
		n := counts[l.Why]
		n[slices.Index([]string{"deny", "ask", "allow"}, l.List)]++
		counts[l.Why] = n
	}
	width := newScreen(o.IO).width
	fmt.Fprintln(o.IO.Err)
	for _, from := range slices.Sorted(maps.Keys(counts)) {
		n, file := counts[from], strings.TrimSuffix(strings.TrimPrefix(from, "From "), ".")
		fmt.Fprintf(o.IO.Err, "taken over from %s: %s, %s, %s\n", visible(file), plural(n[0], "denial"),
			plural(n[1], "ask"), plural(n[2], "allow"))
	}
	for i, s := range d.Skipped {
		if i == maxSkipped {
			fmt.Fprintf(o.IO.Err, "not taken over: %d more; --json lists them\n", len(d.Skipped)-i)
			break
		}
		fmt.Fprintln(o.IO.Err, clip("not taken over: "+visible(s), width))
	}
	if len(d.Looser) == 0 && len(counts) > 0 {
		fmt.Fprintln(o.IO.Err, "no call that was tried is freer than by the rules in force")
	}
}

// looser shows rules in force that would be looser, one by one, each with a call.
func (o *initOptions) looser(regions []diff.Region) {
	for i := range regions {
		r := &regions[i]
		fmt.Fprintf(o.IO.Err, "%s  %s: %s → %s, by %s (%s)\n", o.IO.paint(red, "looser"),
			visible(explain.AsChecked(r.Call)), r.Was,
			r.Now, visible(r.WasBy.Rule), visible(r.WasBy.Pos.String()))
	}
}

// write makes the file and accepts it: a person has seen it.
func (o *initOptions) write(ctx context.Context, name, dir, text string, who *person.Who) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	err := textedit.ReplaceFile(name, 0o644, func(old []byte) ([]byte, error) {
		if old != nil {
			return nil, fmt.Errorf("%s was written meanwhile", name)
		}
		return []byte(text), nil
	})
	if err != nil || o.User {
		return err
	}
	vouched := func(string) (*person.Who, error) { return who.Asked(), nil }
	t := &trustOptions{Factory: &Factory{IO: &IO{In: o.IO.In, Out: io.Discard, Err: o.IO.Err, Person: vouched},
		World: o.World}, Dir: dir, Yes: true, Getenv: o.Getenv}
	return t.run(ctx, nil)
}
