package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/report"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/policy"
)

// policyOptions say which configuration a command works with.
type policyOptions struct {
	Files   []string `flag:"policy p"`
	Dialect string   `flag:"dialect d" words:"@dialects"`
	Options []string `flag:"option o"`
	Floor   string   `flag:"floor" words:"on off"`
	Dir     string   `flag:"dir C"`
	// Parse reads the files also where an accepted Program stands for them, for
	// commands that show the problems of a file.
	Parse bool
}

// formOptions say in which form a command tells its findings.
type formOptions struct {
	Format string `flag:"format" words:"text sarif github"` // "" is text
}

// readForm reads --format, of which the text is the one that has no name.
func (o *formOptions) readForm(f *Factory) error {
	if o.Format == "text" {
		o.Format = ""
	}
	switch {
	case o.Format == "":
		return nil
	case !slices.Contains(report.Forms(), o.Format):
		return usagef("--format takes text, sarif or github, not %q", o.Format)
	case f.jsonFlag:
		return usagef("--json and --format exclude one another")
	}
	return nil
}

// writeForm writes findings in the form that --format names, with the files as seen from here.
func (o *formOptions) writeForm(f *Factory, files []string, all []report.Finding) error {
	for i := range all {
		all[i].Pos.File = f.short(all[i].Pos.File)
	}
	if len(files) > 0 {
		files = []string{f.short(files[0])}
	}
	return report.Write(f.IO.Out, o.Format, thisVersion().Version, files, all)
}

// loaded is the configuration that a command works with. Where several policies
// are in force, the embedded one is that of the project.
type loaded struct {
	*policy.Policy
	inForce *policy.InForce
	finder  *policy.Finder
	gate    *gate.Gate // see decide
	where   policy.Where
	Dir     string // absolute
	Found   bool   // no file was named

	looked  bool          // for records
	records *sqlite.Store // see also; nil: there are none
}

// close closes the records, if they were looked at.
func (p *loaded) close() {
	if p.records != nil {
		p.records.Close()
	}
}

// short returns names as they are written from the current directory, where that is
// shorter.
func (f *Factory) short(names ...string) string {
	wd, err := os.Getwd()
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		if rel, relErr := filepath.Rel(wd, name); err == nil && relErr == nil && len(rel) < len(name) {
			out[i] = rel
		}
	}
	return strings.Join(out, ", ")
}

// shorten writes the names of files in a text as they are written from the current directory.
func (f *Factory) shorten(text string, names []string) string {
	for _, name := range names {
		text = strings.ReplaceAll(text, name, f.short(name))
	}
	return text
}

// title names a policy: by its files, if it has some.
func (f *Factory) title(names []string) string {
	if len(names) == 0 {
		return "the built-in policy"
	}
	return f.short(names...)
}

// InForce returns the policies in force where a call is made.
func (p *loaded) InForce(call *obstat.Call) (*policy.InForce, error) {
	if !p.Found || call.Dir == p.Dir && call.Agent == p.where.Agent {
		return p.inForce, nil
	}
	at := p.where
	at.Agent, at.Dir, at.Roots = call.Agent, call.Dir, call.Roots
	return p.finder.Find(&at)
}

// Accept refuses: commands that only look change no policy.
func (*loaded) Accept(context.Context, *gate.Accepted) error {
	return errors.New("this command accepts nothing")
}

// judging returns a gate for commands that only look.
func judging(source gate.Source, world obstat.World) (*gate.Gate, error) {
	dir, err := statedir.Dir(os.Getenv)
	opts := gate.Options{Policy: source, World: world, NoStart: true,
		Confine: &gate.Confining{Machine: confined.Machine(dir)}}
	if err == nil {
		opts.Sessions = gate.SessionDir(statedir.Sessions(dir))
	}
	return gate.Open(context.Background(), opts)
}

// instead is a source in which another policy stands in the place of one.
type instead struct {
	*loaded
	of, now *obstat.Policy
}

// InForce implements gate.Source.
func (s *instead) InForce(call *obstat.Call) (*policy.InForce, error) {
	in, err := s.loaded.InForce(call)
	if err != nil {
		return nil, err
	}
	out := *in
	out.Policies = slices.Clone(in.Policies)
	for i, was := range out.Policies {
		if was.Loaded.Policy.Digest() != s.of.Digest() {
			continue
		}
		p, l := *was, *was.Loaded
		l.Policy, l.Program = s.now, s.now.Program()
		p.Loaded, out.Policies[i] = &l, &p
	}
	return &out, nil
}

// settle returns the verdict of a gate where another policy stands in the place of one.
func (p *loaded) settle(call *obstat.Call, world obstat.World, of, now *obstat.Policy) obstat.Verdict {
	g, err := judging(&instead{p, of, now}, world)
	if err != nil {
		return obstat.Deny
	}
	out, err := g.Authorize(context.Background(), call, &gate.Terms{Ask: gate.Try})
	if err != nil {
		return obstat.Deny
	}
	return out.Ruling.Verdict
}

// decide answers a call as a gate judges it, by everything that is in force where
// it is made.
func (p *loaded) decide(call *obstat.Call, world obstat.World) (policy.Ruling, error) {
	if p.gate == nil {
		var err error
		if p.gate, err = judging(p, world); err != nil {
			return policy.Ruling{}, err
		}
	}
	out, err := p.gate.Authorize(context.Background(), call, &gate.Terms{Ask: gate.Try})
	if err != nil {
		return policy.Ruling{}, err
	}
	a := out.Ruling
	if a.From == nil {
		a.From, a.Call = p.Policy, *call
	}
	if a.From.OnDisk && a.Waits == "" && !out.Self {
		a.Offers = a.From.Offers(&a.Call, world, &a.Decision)
	}
	return a, nil
}

// maxPolicy bounds a configuration file.
const maxPolicy = 256 << 20

// load reads and compiles the configuration that o names, or the one in force.
func (f *Factory) load(o *policyOptions) (*loaded, error) {
	p, err := f.find(o)
	if err != nil {
		return nil, err
	}
	if err := p.inForce.Err(); err != nil && !p.inForce.Bound() {
		return nil, err
	}
	p.Policy = p.inForce.Main()
	return p, nil
}

// find finds the configuration that o names, or the one in force.
func (f *Factory) find(o *policyOptions) (*loaded, error) {
	dir, err := f.dir(o.Dir)
	if err != nil {
		return nil, err
	}
	named, err := o.named()
	if err != nil {
		return nil, err
	}
	home, _ := f.World.Home("")
	p := &loaded{Dir: dir, Found: len(o.Files) == 0, finder: &policy.Finder{NoPins: o.Parse},
		where: policy.Where{Dir: dir, Home: home, Getenv: os.Getenv, Mine: true, Named: &named}}
	if !p.Found {
		p.finder.Read = read
	}
	p.inForce, err = p.finder.Find(&p.where)
	return p, err
}

func (f *Factory) dir(dir string) (string, error) {
	wd, err := os.Getwd()
	switch {
	case filepath.IsAbs(dir):
		return filepath.Clean(dir), nil
	case err != nil:
		return "", fmt.Errorf("the current directory is not known: %w", err)
	}
	return filepath.Join(wd, dir), nil
}

func (o *policyOptions) options() (map[string]string, error) {
	out := map[string]string{}
	for _, kv := range o.Options {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, usagef("--option takes name=value, not %q", kv)
		}
		if _, twice := out[k]; twice {
			return nil, usagef("option %s is given twice", k)
		}
		out[k] = v
	}
	if o.Floor != "" {
		out[dialect.FloorOption] = o.Floor
	}
	return out, nil
}

// named returns the files that the flags name, with their dialect and its options.
func (o *policyOptions) named() (policy.Named, error) {
	opts, err := o.options()
	return policy.Named{Files: o.Files, Dialect: o.Dialect, Options: opts}, err
}

func read(name string) ([]byte, error) {
	data, whole, err := readAtMost(name, maxPolicy)
	if err == nil && !whole {
		err = fmt.Errorf("more than %d bytes", maxPolicy)
	}
	return data, err
}

// readAtMost reads a file, and not much more of it than most bytes; whole tells whether that is all.
func readAtMost(name string, most int64) (data []byte, whole bool, err error) {
	r, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	data, err = io.ReadAll(io.LimitReader(r, most+1))
	return data, int64(len(data)) <= most, err
}

// announce names the policies that were found, where no file was named.
func (f *Factory) announce(p *loaded) {
	if !p.Found || f.jsonFlag {
		return
	}
	for _, pol := range p.inForce.Policies {
		switch names := pol.Input.Names(); {
		case !pol.OnDisk || pol.Role != policy.Own:
		case len(names) == 0:
			f.IO.note("using the built-in policy; no other is found")
			f.IO.note("it is the preset balanced; obstat init writes a policy for this project")
		default:
			f.IO.note(fmt.Sprintf("using %s (%s)", visible(f.short(names...)), pol.Dialect.Name()))
		}
	}
}

// warn shows the warnings of a configuration, unless the output is for programs.
func (f *Factory) warn(p *loaded) {
	if len(p.Warnings) > 0 && !f.jsonFlag {
		f.problems(f.IO.Err, p.Warnings, false)
	}
}

// warnOnce shows the warnings of a configuration the first time that a call is put to it,
// and again once one of its files has changed.
func (f *Factory) warnOnce(p *loaded) {
	if len(p.Warnings) > 0 && !f.jsonFlag && p.isNews() {
		f.warn(p)
	}
}

// maxWarned bounds the file that remembers whose warnings were shown.
const maxWarned = 64 << 10

// isNews tells whether the files are not as they were when their warnings were shown, and
// remembers them, as far as that can be written.
func (p *loaded) isNews() bool {
	dir, err := statedir.Dir(os.Getenv)
	if err != nil {
		return true
	}
	h := sha256.New()
	for i := range p.Input.Files {
		fmt.Fprintf(h, "%q %x\n", p.Input.Files[i].Name, sha256.Sum256(p.Input.Files[i].Data))
	}
	for _, w := range p.Warnings { // an option or another version may warn of other things
		fmt.Fprintln(h, w)
	}
	line := hex.EncodeToString(h.Sum(nil)) + "\n"
	known, err := os.ReadFile(statedir.Warned(dir))
	if bytes.Contains(known, []byte(line)) {
		return false
	}
	if err != nil || len(known) > maxWarned {
		known = nil
	}
	if err := os.MkdirAll(dir, 0o700); err == nil {
		_ = os.WriteFile(statedir.Warned(dir), append(known, line...), 0o600)
	}
	return true
}
