package gemini

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/paths"
)

// A view turns a call of any agent into questions to Gemini CLI's rules.
type view struct{ *params }

var _ kit.Outliner = (*view)(nil)

// Questions returns the questions that a call poses to the rules.
func (v *view) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	args, err := kit.Arguments(f)
	if err != nil {
		return nil, err
	}
	name := v.toolName(f.Call.Tool)
	args = renamed(f.Call.Tool, name, args)
	if one := v.single(f, name, args); one != nil {
		return one, nil
	}
	c := &asked{view: v, f: f, tool: name, args: args, text: stable(args)}
	out := []obstat.Question{c.question()}
	if command := args.Get("command"); name == shellTool && command.Is(tree.String) && command.Str != "" {
		out = c.shell(command.Str, out)
	}
	if name == "invoke_agent" {
		if agent := args.Get("agent_name"); agent.Is(tree.String) {
			out[0].Subjects = append(out[0].Subjects, obstat.Subject{Field: fieldAgent, Text: agent.Str})
		}
	}
	if f.Part() == nil {
		out[0].Subjects = append(out[0].Subjects, obstat.Subject{Field: fieldCall, Text: name})
	}
	build := c.buildFile()
	if f.Part() == nil && (build != "" || slices.Contains(v.Checkers, string(f.Mode))) {
		out = append(out, c.checked(build))
	}
	return out, nil
}

// single asks about each file of another agent's tool that has no one path, such as a patch, as
// Gemini CLI's tools would be called for it; nil where the call has a path, or is its own.
func (v *view) single(f *obstat.Facts, name string, args *tree.Node) (out []obstat.Question) {
	if !slices.Contains(fileTools, name) || args.Get("file_path") != nil {
		return nil
	}
	a := f.Analysis()
	for i := range a.Effects {
		e, tool := &a.Effects[i], "replace"
		switch {
		case e.Kind == effect.Read:
			tool = "read_file"
		case e.Kind != effect.Write && e.Kind != effect.Delete:
			continue
		}
		one := argument("file_path", cmp.Or(e.Raw, e.Path))
		c := &asked{view: v, f: f, tool: tool, args: one, text: stable(one)}
		q := c.question()
		if f.Part() == nil {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: fieldCall, Text: tool})
			if build := c.buildFile(); build != "" || slices.Contains(v.Checkers, string(f.Mode)) {
				out = append(out, c.checked(build))
			}
		}
		out = append(out, q)
	}
	return out
}

// canonical are Gemini CLI's names for the kinds of tools in the catalogue.
var canonical = map[string]string{
	"shell": shellTool, "read": "read_file", "write": "write_file", "mkdir": "write_file", "edit": "replace",
	"patch": "replace", "delete": "replace", "move": "replace", "notebook": "replace", "list": "list_directory",
	"glob": "glob", "grep": "grep_search", "fetch": "web_fetch", "search": "google_web_search",
	"task": "invoke_agent", "skill": "activate_skill",
}

// toolName returns Gemini CLI's name for a tool of any agent; a server's is written
// mcp__server__tool.
func toolName(tool string) string {
	if alias := aliases[tool]; alias != "" {
		return alias
	}
	if slices.Contains(tables()["tools"], tool) || strings.HasPrefix(tool, "mcp__") {
		return tool
	}
	t, _ := effect.Lookup(tool)
	if name := canonical[t.Canonical]; name != "" {
		return name // also JiuwenSwarm's mcp_exec_command
	}
	if rest, ok := strings.CutPrefix(tool, "mcp_"); ok {
		if server, name, ok := strings.Cut(rest, "_"); ok && server != "" && name != "" {
			return "mcp__" + server + "__" + name
		}
	}
	return tool
}

// toolName returns Gemini CLI's name for a tool, also for that of a server that rules name: canary-poke
// of Copilot and canary_poke of opencode are mcp__canary__poke, and mcp_my_server_get of Crush is mcp__my_server__get.
func (v *view) toolName(tool string) string {
	name := toolName(tool)
	glued, crush := strings.CutPrefix(tool, "mcp_")
	if crush = crush && strings.HasPrefix(name, "mcp__") && name != tool; !crush {
		glued = tool
	}
	if _, known := effect.Lookup(tool); !crush && (known || name != tool) {
		return name
	}
	for _, server := range v.Servers {
		if rest, ok := strings.CutPrefix(glued, server); ok && len(rest) > 1 && (rest[0] == '_' || rest[0] == '-') {
			return "mcp__" + server + "__" + rest[1:]
		}
	}
	return name
}

// renamed gives arguments of another agent's tool the names that Gemini CLI's has, beside
// their own: Cline has a read_file, too, with a path.
func renamed(tool, name string, args *tree.Node) *tree.Node {
	if strings.HasPrefix(name, "mcp__") {
		return args
	}
	t, _ := effect.Lookup(tool)
	out := *args
	out.Members = slices.Clone(args.Members)
	add := func(key string, from []string) {
		if args.Get(key) != nil {
			return
		}
		for _, k := range from {
			if n := args.Get(k); n != nil {
				out.Members = append(out.Members, tree.Member{Key: key, Value: n})
				return
			}
		}
	}
	switch name {
	case shellTool:
		if add("command", t.Command); tool != name {
			add("dir_path", t.Dir)
		}
	case "list_directory", "glob", "grep_search":
		add("dir_path", t.Paths)
	case "web_fetch":
		add("prompt", t.URL)
	case "invoke_agent":
		add("agent_name", []string{"subagent_type", "agent_type"})
	case "read_file", "write_file", "replace":
		add("file_path", t.Paths)
	}
	return &out
}

// asked is one call, or one command of it, being put into words.
type asked struct {
	*view
	f    *obstat.Facts
	tool string
	args *tree.Node
	text string // all arguments
}

// question says the arguments: all of them, and each by itself.
func (c *asked) question() obstat.Question {
	q := obstat.Question{Tool: c.tool, Subjects: []obstat.Subject{{Field: fieldShown, Text: c.shown()},
		{Field: fieldSeen, Text: c.text}, {Field: fieldArgs, Text: c.text}}}
	for _, m := range c.args.Members {
		if !m.Value.Is(tree.String) {
			continue
		}
		args, seen := fieldArgs+"."+m.Key, fieldSeen+"."+m.Key
		if !c.f.Wants(args) && !c.f.Wants(seen) {
			continue
		}
		start := jsonx.Quote(m.Key) + ":"
		bare := inner(m.Value.Str)
		tail := bare
		if at := strings.Index(c.text, "\x00"+start+`"`); at >= 0 {
			tail = c.text[at+len(start)+2:]
		}
		q.Subjects = append(q.Subjects, obstat.Subject{Field: args, Text: tail}, obstat.Subject{Field: seen, Text: bare},
			obstat.Subject{Field: seen, Text: tail})
		for _, other := range c.spellings(m.Key, m.Value.Str) {
			all := strings.Replace(c.text, start+jsonx.Quote(m.Value.Str), start+jsonx.Quote(other), 1)
			q.Subjects = append(q.Subjects, obstat.Subject{Field: seen, Text: inner(other)},
				obstat.Subject{Field: fieldSeen, Text: all})
		}
	}
	return q
}

// inner returns a text as JSON writes it between its quotes.
func inner(text string) string {
	quoted := jsonx.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// shown returns the call as explanations name it: its command, its file, or all arguments.
func (c *asked) shown() string {
	for _, key := range []string{"command", "file_path", "dir_path", "path", "agent_name"} {
		if n := c.args.Get(key); n.Is(tree.String) && n.Str != "" {
			return n.Str
		}
	}
	return strings.ReplaceAll(c.text, "\x00", "")
}

// spellings returns other ways to name a path, with the floor on: absolute, from the project,
// and where links lead.
func (c *asked) spellings(key, text string) (out []string) {
	if !c.Floor || key != "file_path" && key != "dir_path" && key != "path" || text == "" {
		return nil
	}
	at := paths.Resolver{FS: c.f.World, Dir: c.f.Call.Dir}.Literal(text)
	for _, p := range []string{at.Abs, at.Real} {
		if p == "" {
			continue
		}
		list := []string{p}
		if from := c.f.Call.Anchor(); from != "" && paths.Inside(from, p) {
			rel := strings.TrimPrefix(strings.TrimPrefix(p, from), "/")
			list = append(list, rel, "./"+rel)
		}
		for _, s := range list {
			if s != text && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// checked asks the safety checkers, and about a build file that the call would edit.
func (c *asked) checked(build string) obstat.Question {
	text := c.tool + "\n" + c.text
	q := obstat.Question{Tool: toolChecker,
		Subjects: []obstat.Subject{{Field: fieldShown, Text: c.shown()}, {Field: fieldChecked, Text: text}}}
	if build != "" {
		q.Subjects = append(q.Subjects, obstat.Subject{Field: fieldBuild, Text: build})
	}
	a := c.f.Analysis()
	for i := range a.Effects {
		switch e := &a.Effects[i]; e.Kind {
		case effect.Read, effect.Write, effect.Delete:
			if (e.Kind == effect.Read || !e.Harmless) && !c.inWorkspace(e.Real) {
				q.Subjects = append(q.Subjects, obstat.Subject{Field: fieldOutside, Text: text})
				return q
			}
		}
	}
	return q
}

// buildFile returns the file that a call of an editing tool would change, if it says how a
// project is built.
func (c *asked) buildFile() string {
	words := strings.FieldsFunc(strings.ToLower(c.tool),
		func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(tables()["edit words"], w) }) {
		return ""
	}
	for _, key := range []string{"file_path", "path", "filePath", "file"} {
		n := c.args.Get(key)
		if n == nil || n.Is(tree.Null) {
			continue
		}
		if !n.Is(tree.String) {
			break
		}
		at := paths.Resolver{FS: c.f.World, Dir: c.f.Call.Dir}.Literal(strings.ReplaceAll(strings.TrimSpace(n.Str), `\`, "/"))
		for _, p := range []string{at.Real, at.Abs, n.Str} {
			if p != "" && buildsProject(path.Base(p)) {
				return p
			}
		}
		break
	}
	return ""
}

// buildsProject tells whether a file of that name says how a project is built.
func buildsProject(name string) bool {
	return slices.Contains(tables()["build files"], name) ||
		slices.Contains(tables()["build ends"], strings.ToLower(path.Ext(name))) ||
		slices.ContainsFunc(tables()["build starts"], func(start string) bool { return strings.HasPrefix(name, start) })
}

// Outline returns the questions of any call to a tool.
func (v *view) Outline(tool string) []obstat.Question {
	name := v.toolName(tool)
	subjects := []obstat.Subject{{Field: fieldSeen, Text: "{"}, {Field: fieldArgs, Text: "{"}}
	key := map[string]string{shellTool: "command", "read_file": "file_path", "write_file": "file_path",
		"replace": "file_path", "list_directory": "dir_path", "web_fetch": "prompt"}[name]
	if key != "" {
		subjects = append(subjects, obstat.Subject{Field: fieldArgs + "." + key},
			obstat.Subject{Field: fieldSeen + "." + key})
	}
	subjects = append(subjects, obstat.Subject{Field: fieldCall, Text: name})
	out := []obstat.Question{{Tool: name, Subjects: subjects}}
	if name == shellTool {
		more := slices.Clone(subjects)
		for _, field := range []string{fieldDoubt, fieldRough, fieldRedirect, fieldUnparsed} {
			more = append(more, obstat.Subject{Field: field, Text: "{"})
		}
		out = append(out, obstat.Question{Tool: name,
			Subjects: append(slices.Clone(subjects),
				obstat.Subject{Field: fieldSafe, Text: "{"})}, obstat.Question{Tool: name, Subjects: more})
	}
	return out
}
