package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/shell"
)

// callOptions say which call a command works with.
type callOptions struct {
	Tool  string
	Input string // JSON

	// The one field of the input that matters, in place of Input.
	Command string `flag:"command"`
	Path    string `flag:"path"`
	URL     string `flag:"url"`

	Roots    []string `flag:"root"`
	Subjects []string `flag:"subject"`
	Session  string   `flag:"session"` // its marks are those that its hooks have kept

	said map[string]*said // circumstances by name
}

// said is the value of a circumstance's flag.
type said struct {
	text string
	list []string
}

func (s *said) values() []string {
	switch {
	case s == nil:
		return nil
	case s.text != "":
		return []string{s.text}
	}
	return s.list
}

// circumstanceFlags makes a flag for each circumstance that has one.
func (o *callOptions) circumstanceFlags(cmd *cobra.Command) {
	letters := map[string]string{"mode": "m"}
	o.said = map[string]*said{}
	for at := range obstat.Circumstances() {
		if at.Flag == "" {
			continue
		}
		s := &said{}
		o.said[at.Name] = s
		field := flagField{&s.text, letters[at.Name], at.Words}
		if at.List {
			field.value = &s.list
		}
		declare(cmd, at.Name, at.Flag, field)
	}
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

// args takes the positional arguments: TOOL and INPUT-JSON, or a command of more than one word.
func (o *callOptions) args(args []string) error {
	if len(args) == 0 {
		switch fields := o.fields(); {
		case len(fields) == 1 && o.Command != "":
			o.Tool = "Bash"
		case len(fields) > 0:
			return usagef("--path and --url need a TOOL")
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
	switch {
	case o.Tool == "":
		return usagef("TOOL is empty")
	case len(args) == 1 && len(o.fields()) == 0 && strings.ContainsAny(o.Tool, " \t\n"): // no tool is called `git push`
		o.Tool, o.Command = "Bash", o.Tool
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
	hint := fmt.Sprintf("write the input as a JSON object, or a command as Bash --command %s",
		shell.Quote(o.Tool+" "+o.Input))
	if t, _ := effect.Lookup(o.Tool); len(t.Command) > 0 {
		hint = fmt.Sprintf("write %s --command %s", o.Tool, shell.Quote(o.Input))
	} else if len(t.Paths) > 0 {
		hint = fmt.Sprintf("write %s --path %s", o.Tool, shell.Quote(o.Input))
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
	if c.Subjects == nil {
		c.Subjects = o.Subjects
	}
	c.Session = cmp.Or(c.Session, o.Session)
	for at := range obstat.Circumstances() {
		if at.Flag != "" && at.Values(c) == nil {
			at.Set(c, o.said[at.Name].values()...)
		}
	}
}

// check refuses circumstances that the policy cannot be asked about, which would get an answer
// for a typing mistake: a mode that it does not have, an after that no rule of it names.
func (o *callOptions) check(p *loaded) error {
	var out obstat.Errors
	unknown := func(msg, name, hint string, known []string) {
		if name != "" && !slices.Contains(known, name) {
			out = append(out, &obstat.Error{Code: obstat.CodeUnknownName, Msg: fmt.Sprintf(msg, name),
				Hint: hint + strings.Join(known, ", ")})
		}
	}
	unknown("the policy has no mode %q", o.text("mode"), "it has ", modesOf(p.Program))
	for at := range obstat.Circumstances() {
		if at.Words != nil {
			unknown("there is no "+at.Name+" %q", o.text(at.Name), at.Says+" ", at.Words)
		}
	}
	var marks []string
	for _, pol := range p.inForce.Policies {
		marks = append(marks, pol.Loaded.Policy.Marks()...)
	}
	slices.Sort(marks)
	marks = slices.Compact(marks)
	hint := "its rules come after: "
	if len(marks) == 0 {
		hint = "no rule of it has an after"
	}
	after := o.said["after"].values()
	for i, text := range after {
		after[i] = strings.Join(strings.Fields(text), " ")
		unknown("no rule of the policy comes after %q", after[i], hint, marks)
	}
	if len(out) > 0 {
		return out
	}
	when, err := readTime("--time", o.text("time"), time.Now())
	if err == nil && !when.IsZero() {
		o.said["time"].text = when.Format(time.RFC3339Nano)
	}
	return err
}

// text returns the value of a circumstance's flag, "" where it is not given.
func (o *callOptions) text(name string) string {
	if s := o.said[name]; s != nil {
		return s.text
	}
	return ""
}

// callWords names a call by its tool and its command, path or URL: `Bash git status`.
func callWords(c *obstat.Call) string {
	if text := explain.TextOf(c); text != c.Tool {
		return c.Tool + " " + text
	}
	return c.Tool
}
