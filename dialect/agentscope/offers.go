package agentscope

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// Offers are the suggestions that the document attaches to every ask. With the
// floor on they are the narrowest rules that a person would have written, and one that
// would grant an interpreter, a shell or a wrapper, or that would not settle this very
// call, is left out.
func (d *Dialect) Offers(l *dialect.Loaded, call *obstat.Call, world obstat.World,
	dec *obstat.Decision) (out []obstat.Offer) {
	add := func(tool string, contents ...string) {
		for _, content := range contents {
			rule := ruleOf(d.Tools, tool, content, obstat.Allow)
			rule.Layer = "suggested"
			out = kit.AddOffer(out, "allow", rule, rule.Source)
		}
	}
	f := &obstat.Facts{Call: call, World: world}
	h := hears(d.Tools[call.Tool])
	_, own := d.Tools[call.Tool].(Suggester)
	if own || !l.Program.HasFloor() {
		add(call.Tool, d.suggest(call, world)...)
		if h == nil || !h.Known || len(l.Tried(call, world, out)) > 0 {
			return out
		}
		out = nil // none of the tool's own would do
	}
	switch call.Tool {
	case "Bash":
		a := f.Analysis()
		add("Bash", narrowCommands(l, f, a)...)
		for i := range a.Effects {
			if e := &a.Effects[i]; e.Kind == effect.Write && e.Tags.Has(effect.Redirect) {
				add("Write", plainPaths(e.Path, e.Real)...)
			}
		}
	case "Read", "Write", "Edit", "Glob", "Grep":
		add(call.Tool, d.suggest(call, world)...)
		name, _ := f.String("file_path")
		dir, _ := f.String("path")
		search := name == "" && call.Tool[0] == 'G' // Glob and Grep
		if search {
			name = cmp.Or(dir, call.Dir)
		}
		if name != "" {
			p := resolve(f, name)
			add(call.Tool, plainPaths(name, p.Abs, p.Real)...)
		}
		if search && dir == "" { // it looks below the working directory, which no argument names
			glob, _ := f.String("pattern")
			if call.Tool == "Glob" && glob != "" {
				add("Glob", glob)
			}
			add("Read", plainPaths(call.Dir)...)
		}
	default:
		add(call.Tool, d.suggest(call, world)...)
	}
	return out
}

// plainPaths returns the paths that mean themselves as a pattern, each once.
func plainPaths(names ...string) (out []string) {
	for _, p := range names {
		if p != "" && !strings.ContainsAny(p, "*?[") && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// narrowCommands returns a prefix for each command that is not allowed by itself: program
// and subcommand, `git commit:*`, where the second word is one, and else the command with
// all its words; and for the whole text, which has to be matched as well. A program without a
// word gets one if it runs the project's own code, `make:*`: that of others, such as `npm:*`,
// would be about all that they can do.
func narrowCommands(l *dialect.Loaded, f *obstat.Facts, a *effect.Analysis) (out []string) {
	for i := range a.Commands {
		c := &a.Commands[i]
		if c.Wrapper || len(c.Via) > 0 {
			return nil // it runs others: the rule would be about them, too
		}
		one := *f.Call
		one.Input, _ = json.Marshal(map[string]string{"command": c.Text})
		sayable := c.Text != "" && c.Known && !strings.Contains(c.Text, "\n") && (len(c.Words) > 1 || runsProject(a, i))
		if !sayable || l.Policy.Decide(&one, f.World).Verdict == obstat.Allow {
			continue
		}
		if len(c.Words) > 1 && subcommand.MatchString(c.Words[1].Text) && !touches(a, i, c.Words[1].Text) {
			out = append(out, c.Path+" "+c.Words[1].Text+":*")
			continue
		}
		out = append(out, c.Text+":*")
	}
	src := strings.TrimSpace(a.Source)
	begins := func(p string) bool { return strings.HasPrefix(src+" ", strings.TrimSuffix(p, ":*")+" ") }
	if !slices.ContainsFunc(out, begins) && strings.Contains(src, " ") && !strings.Contains(src, "\n") {
		out = append(out, src+":*")
	}
	return out
}

// runsProject tells whether a command runs code of the project, as a build or a test does.
func runsProject(a *effect.Analysis, command int) bool {
	return slices.ContainsFunc(a.Effects, func(e effect.Effect) bool {
		return e.Command == command &&
			e.Kind == effect.Code
	})
}

var subcommand = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// touches tells whether a word of a command is a path that it reads or changes.
func touches(a *effect.Analysis, command int, word string) bool {
	return slices.ContainsFunc(a.Effects, func(e effect.Effect) bool {
		return e.Command == command && e.Raw == word &&
			e.Path != ""
	})
}

// suggest returns the contents of the rules that generate_suggestions proposes.
func (d *Dialect) suggest(call *obstat.Call, world obstat.World) []string {
	f := &obstat.Facts{Call: call, World: world}
	if s, ok := d.Tools[call.Tool].(Suggester); ok {
		input, err := f.Object()
		if err != nil {
			return nil
		}
		return s.Suggest(input)
	}
	switch call.Tool {
	case "Bash":
		cmd, _ := f.String("command")
		return prefixes(cmd)
	case "Read", "Write", "Edit":
		name, ok := f.String("file_path")
		if !ok || name == "" {
			return nil
		}
		return []string{below(dirname(name))}
	case "Glob", "Grep":
		dir, _ := f.String("path")
		if dir == "" {
			dir = call.Dir
		}
		if !path.IsAbs(dir) {
			dir = path.Join(call.Dir, dir)
		}
		return []string{below(path.Clean(dir))}
	case "PowerShell":
		return nil
	}
	return []string{""}
}

// dirname is Python's os.path.dirname.
func dirname(p string) string {
	i := strings.LastIndexByte(p, '/') + 1
	head := p[:i]
	if head != "" && strings.Trim(head, "/") != "" {
		head = strings.TrimRight(head, "/")
	}
	return head
}

func below(dir string) string {
	if dir == "" {
		return "**"
	}
	return strings.TrimRight(dir, `/\`) + "/**"
}

// maxSuggestions is how many parts of a command get a suggestion.
const maxSuggestions = 5

// prefixes returns "program word:*" for the first commands of a script.
func prefixes(cmd string) []string {
	if strings.TrimSpace(cmd) == "" {
		return nil
	}
	out := []string{}
	n := 0
	for _, s := range scripts(cmd) {
		for i := range s.Commands {
			c := &s.Commands[i]
			if len(c.Words) == 0 || c.Nest&inner != 0 && c.Nest&shell.InHeredoc == 0 || c.Words[0].Raw == "[" {
				continue
			}
			if n++; n > maxSuggestions {
				break
			}
			if p, ok := prefix(c, s.Source[:c.Span.Start]); ok && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// inner are the places whose commands are part of another command's words.
const inner = shell.InSubst | shell.InArith | shell.InTrap | shell.InAlias | shell.InEval

// scripts returns the script, or, where it does not parse, its pieces between
// operators: people get a suggestion for a command with a stray && as well.
func scripts(cmd string) []*shell.Script {
	whole := shell.Parse(cmd, nil)
	if !whole.Opaque() {
		return []*shell.Script{whole}
	}
	var out []*shell.Script
	for _, piece := range strings.FieldsFunc(cmd, func(r rune) bool { return strings.ContainsRune("&|;\n", r) }) {
		out = append(out, shell.Parse(piece, nil))
	}
	return out
}

// prefix returns the suggestion for one command; before is the text that stands
// before it.
func prefix(c *shell.Command, before string) (string, bool) {
	for _, a := range c.Assigns {
		if !listed("safe variables", a.Name) {
			return "", false
		}
	}
	name := c.Words[0].Raw
	if f := strings.Fields(before); len(f) > 0 && f[len(f)-1] == "time" && plainWord(name) {
		return "time " + name + ":*", true // the document takes time for a program
	}
	if listed("unsuggested", strings.ToLower(name)) {
		return "", false
	}
	for _, w := range c.Words[1:] {
		if plainWord(w.Raw) {
			return name + " " + w.Raw + ":*", true
		}
	}
	return "", false
}

// plainWord tells whether a word as written is a single unquoted literal that
// is not a number, which is a word to the document's parser.
func plainWord(raw string) bool {
	if raw == "" || strings.ContainsAny(raw, "'\"`$(){}") || strings.Count(raw, "[")+strings.Count(raw, "]") > 1 {
		return false
	}
	digits := strings.TrimPrefix(raw, "-")
	return strings.Trim(digits, "0123456789") != "" || digits == ""
}
