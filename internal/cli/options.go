package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/statedir"
	"github.com/obstat/obstat/internal/store/sqlite"
	"github.com/obstat/obstat/policy"
)

// policyOptions say which configuration a command works with.
type policyOptions struct {
	Files   []string
	Dialect string
	Options []string
	Floor   string
	Dir     string
	// Parse reads the files also where an accepted Program stands for them, for
	// commands that show the problems of a file.
	Parse bool
}

func (o *policyOptions) flags(cmd *cobra.Command, files bool) {
	fl := cmd.Flags()
	if files {
		fl.StringArrayVarP(&o.Files, "policy", "p", nil, "configuration `file`, lowest precedence first; [LAYER=]FILE (default: the policy in force in the directory)")
	}
	fl.StringVarP(&o.Dialect, "dialect", "d", "", "`name` of the files' dialect (default: told by name and shape)")
	fl.StringArrayVarP(&o.Options, "option", "o", nil, "option of the dialect, as `name=value`")
	fl.StringVar(&o.Floor, "floor", "", "whether every part of a call is put to the rules: `on` or off (default on)")
	fl.StringVarP(&o.Dir, "dir", "C", "", "working `directory` of the call, and where files are looked for (default: the current one)")
	complete(cmd, "dialect", all.Names()...)
	complete(cmd, "floor", "on", "off")
}

func complete(cmd *cobra.Command, flag string, words ...string) {
	// The flag exists: it was made just before.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
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

// names returns the names of the files.
func (p *loaded) names() []string { return namesOf(p.Policy) }

func namesOf(p *policy.Policy) []string {
	out := []string{}
	for _, f := range p.Input.Files {
		out = append(out, f.Name)
	}
	return out
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

// decide answers a call as a gate judges it, by everything that is in force where
// it is made.
func (p *loaded) decide(call *obstat.Call, world obstat.World) (policy.Answer, error) {
	if p.gate == nil {
		var err error
		if p.gate, err = gate.Open(context.Background(), gate.Options{Policy: p, World: world, NoStart: true}); err != nil {
			return policy.Answer{}, err
		}
	}
	a, self := p.gate.Judge(context.Background(), call)
	if a.By == nil {
		a.By, a.Call = p.Policy, *call
	}
	if a.By.OnDisk && a.Waits == "" && !self {
		a.Offers = a.By.Offers(&a.Call, world, &a.Decision)
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
	opts, err := o.options()
	if err != nil {
		return nil, err
	}
	home, _ := f.World.Home("")
	p := &loaded{Dir: dir, Found: len(o.Files) == 0, finder: &policy.Finder{NoPins: o.Parse},
		where: policy.Where{Dir: dir, Home: home, Getenv: os.Getenv, Mine: true, Named: &policy.Named{Files: o.Files, Dialect: o.Dialect, Options: opts}}}
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

func read(name string) ([]byte, error) {
	r, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxPolicy+1))
	if err == nil && len(data) > maxPolicy {
		err = fmt.Errorf("more than %d bytes", maxPolicy)
	}
	return data, err
}

// announce names the policies that were found, where no file was named.
func (f *Factory) announce(p *loaded) {
	if !p.Found || f.jsonFlag {
		return
	}
	for _, pol := range p.inForce.Policies {
		switch names := namesOf(pol); {
		case !pol.OnDisk || pol.Role != policy.Own:
		case len(names) == 0:
			fmt.Fprintln(f.IO.Err, "using the built-in policy; no other is found")
			fmt.Fprintln(f.IO.Err, "it is the preset balanced; obstat init writes a policy for this project")
		default:
			fmt.Fprintf(f.IO.Err, "using %s (%s)\n", visible(f.short(names...)), pol.Dialect.Name())
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
// remembers them. What cannot be remembered is shown again.
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

// callOptions say which call a command works with.
type callOptions struct {
	Tool  string
	Input string // JSON

	Command, Path, URL string // the one field of the input that matters

	Roots    []string
	Mode     string
	Channel  string
	Agent    string
	User     string
	Roles    []string
	Subjects []string
}

func (o *callOptions) flags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&o.Command, "command", "", "the `command` of a shell call, in place of INPUT-JSON")
	fl.StringVar(&o.Path, "path", "", "the `path` of a call to a file tool, in place of INPUT-JSON")
	fl.StringVar(&o.URL, "url", "", "the `URL` of a call that fetches, in place of INPUT-JSON")
	fl.StringArrayVar(&o.Roots, "root", nil, "`directory` of the workspace (default: the working directory)")
	fl.StringVarP(&o.Mode, "mode", "m", "", "`mode` to decide in (default: the policy's)")
	fl.StringVar(&o.Channel, "channel", "", "`channel` that the call comes through")
	fl.StringVar(&o.Agent, "agent", "", "`name` of the agent")
	fl.StringVar(&o.User, "user", "", "`name` of the user that the agent works for")
	fl.StringArrayVar(&o.Roles, "role", nil, "`role` of the user")
	fl.StringArrayVar(&o.Subjects, "subject", nil, "`text` to match in place of what the dialect makes of the input")
}

// fields are the flags that stand for an input.
func (o *callOptions) fields() map[string]string {
	out := map[string]string{}
	for k, v := range map[string]string{"command": o.Command, "path": o.Path, "url": o.URL} {
		if v != "" {
			out[k] = v
		}
	}
	return out
}

// args takes the positional arguments: TOOL and INPUT-JSON.
func (o *callOptions) args(args []string) error {
	if len(args) == 0 {
		if len(o.fields()) > 0 {
			return usagef("--command, --path and --url need a TOOL")
		}
		return nil
	}
	o.Tool = args[0]
	if len(args) > 1 {
		if len(o.fields()) > 0 {
			return usagef("give INPUT-JSON or --command, --path and --url, not both")
		}
		o.Input = args[1]
	}
	if o.Tool == "" {
		return usagef("TOOL is empty")
	}
	return nil
}

// call makes the call that o describes. Agents have different names for a
// tool's path: of those that are known the first is taken that the policy's
// dialect can read.
func (o *callOptions) call(p *loaded, w obstat.World) (*obstat.Call, error) {
	c := &obstat.Call{Tool: o.Tool}
	o.defaults(c, p.Dir)
	if o.Input != "" {
		c.Input = json.RawMessage(o.Input)
		return c, o.checkInput()
	}
	fields := o.fields()
	fault := func(input string) string {
		named := *c
		named.Input = json.RawMessage(input)
		for _, f := range p.Loaded.Policy.Decide(&named, w).Faults {
			return f.Msg
		}
		return ""
	}
	// A name that the tool does not have leaves the call with the fault that it has without it.
	missing, best := fault("{}"), ""
	for n := 0; n < maxNames && len(fields) > 0; n++ {
		input := map[string]string{}
		for kind, text := range fields {
			input[fieldName(o.Tool, kind, n)] = text
		}
		b, err := marshal(input)
		if err != nil {
			return nil, err
		}
		text := string(bytes.TrimSpace(b))
		said := fault(text)
		if n == 0 || said == "" || said != missing && fault(best) == missing {
			best = text
		}
		if said == "" {
			break
		}
	}
	if best != "" {
		c.Input = json.RawMessage(best)
	}
	return c, nil
}

// maxNames bounds how many names of a field are tried.
const maxNames = 8

// checkInput refuses an INPUT-JSON that is not JSON, with the way to write a command.
func (o *callOptions) checkInput() error {
	_, problems := jsonx.Parse([]byte(o.Input), jsonx.Options{NUL: true})
	f := dialect.File{Name: "INPUT-JSON", Data: []byte(o.Input)}
	err := f.Problems(problems).Fatal()
	if err == nil || strings.HasPrefix(strings.TrimSpace(o.Input), "{") {
		return err
	}
	hint := "write the input as a JSON object"
	if t, _ := effect.Lookup(o.Tool); len(t.Command) > 0 {
		hint = fmt.Sprintf("write %s --command %s", o.Tool, agent.Quote(o.Input))
	} else if len(t.Paths) > 0 {
		hint = fmt.Sprintf("write %s --path %s", o.Tool, agent.Quote(o.Input))
	}
	return obstat.Errors{{Code: obstat.CodeSyntax, Msg: fmt.Sprintf("INPUT-JSON is not JSON: %s", o.Input), Hint: hint}}
}

// fieldName returns the n-th name that a tool may have for its command, path or
// URL; the last where there are not so many.
func fieldName(tool, kind string, n int) string {
	t, _ := effect.Lookup(tool)
	names := map[string][]string{"command": t.Command, "path": t.Paths, "url": t.URL}[kind]
	if len(names) == 0 {
		return kind
	}
	return names[min(n, len(names)-1)]
}

// defaults fills in the fields that a call leaves empty.
func (o *callOptions) defaults(c *obstat.Call, dir string) {
	if c.Dir == "" {
		c.Dir = dir
	}
	if c.Roots == nil {
		for _, r := range o.Roots {
			if !filepath.IsAbs(r) {
				r = filepath.Join(dir, r)
			}
			c.Roots = append(c.Roots, r)
		}
		if len(c.Roots) == 0 {
			c.Roots = []string{c.Dir}
		}
	}
	if c.Mode == "" {
		c.Mode = obstat.Mode(o.Mode)
	}
	if c.Subjects == nil {
		c.Subjects = o.Subjects
	}
	if c.Roles == nil {
		c.Roles = o.Roles
	}
	for to, from := range map[*string]string{&c.Channel: o.Channel, &c.Agent: o.Agent, &c.User: o.User} {
		if *to == "" {
			*to = from
		}
	}
}

// checkMode refuses a mode that the policy does not have: deciding would deny
// everything for a typing mistake.
func checkMode(p *loaded, mode string) error {
	if _, ok := p.Program.Pipelines[obstat.Mode(mode)]; ok || mode == "" {
		return nil
	}
	return obstat.Errors{{Code: obstat.CodeUnknownName, Msg: fmt.Sprintf("the policy has no mode %q", mode),
		Hint: "it has " + strings.Join(modesOf(p.Program), ", ")}}
}

// callWords names a call by its tool and its command, path or URL: `Bash git status`.
func callWords(c *obstat.Call) string {
	if text := explain.TextOf(c); text != c.Tool {
		return c.Tool + " " + text
	}
	return c.Tool
}
