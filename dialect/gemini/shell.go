package gemini

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// maxNested is how deep shells inside shells are looked into.
const maxNested = 8

// shell adds the properties of a command to its question, which is the last of out, and asks
// about each command of the line by itself.
func (c *asked) shell(command string, out []obstat.Question) []obstat.Question {
	a := c.f.Analysis()
	c.flags(&out[len(out)-1], a, true)
	return c.parts(command, a, out, 0)
}

// flags adds the properties of a command that stand above an allowing rule, or below an
// asking one.
func (c *asked) flags(q *obstat.Question, a *effect.Analysis, whole bool) {
	bad, redirects := !parsed(a), redirected(a)
	risky := whole && (c.outside() || c.risky(a))
	safe := whole && !bad && !redirects && !risky && c.safe(a)
	for _, flag := range []struct {
		field string
		on    bool
	}{{fieldDoubt, bad || redirects || risky}, {fieldRough, bad || risky}, {fieldRedirect, bad || redirects},
		{fieldUnparsed, bad}, {fieldSafe, safe}} {
		if flag.on {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: flag.field, Text: c.text})
		}
	}
}

// risky tells whether the first command of a line is dangerous; with the floor on, any of them.
func (c *asked) risky(a *effect.Analysis) bool {
	for i := range a.Commands {
		if (i == 0 || c.Floor) && dangerous(&a.Commands[i]) {
			return true
		}
	}
	return false
}

// outside tells whether the command is to be run out of the workspace.
func (c *asked) outside() bool {
	dir := c.args.Get("dir_path")
	if !dir.Is(tree.String) || dir.Str == "" {
		return false
	}
	at := paths.Resolver{FS: c.f.World, Dir: c.f.Call.Dir}.Literal(dir.Str).Abs
	return !c.inWorkspace(at)
}

// inWorkspace tells whether a path, "" for one that is not known, lies in the workspace.
func (c *asked) inWorkspace(p string) bool {
	return p != "" && slices.ContainsFunc(c.f.Call.Workspace(), func(root string) bool { return paths.Inside(root, p) })
}

// parts asks about the commands of a line, and about the text that a shell of the line is given to run.
func (c *asked) parts(line string, a *effect.Analysis, out []obstat.Question, depth int) []obstat.Question {
	if !parsed(a) || depth > maxNested {
		return out
	}
	for i := range a.Commands {
		cmd := &a.Commands[i]
		if len(cmd.Via) > 0 || cmd.Span.Start < 0 || cmd.Span.End > len(a.Source) || cmd.Span.Start >= cmd.Span.End {
			continue
		}
		text := strings.TrimSpace(a.Source[cmd.Span.Start:cmd.Span.End])
		if inner, ok := unwrapped(text); ok {
			out = c.part(inner, out, depth+1)
		}
		if text != strings.TrimSpace(line) {
			out = c.part(text, out, depth+1)
		}
	}
	return out
}

// part asks about a command as a call of its own, which keeps nothing but the directory.
func (c *asked) part(text string, out []obstat.Question, depth int) []obstat.Question {
	args := argument("command", text)
	if dir := c.args.Get("dir_path"); dir != nil {
		args.Members = append(args.Members, tree.Member{Key: "dir_path", Value: dir})
	}
	one := &asked{view: c.view, f: c.f, tool: c.tool, args: args, text: stable(args)}
	a := effect.AnalyzeCommand(text, &effect.Options{Dir: c.f.Call.Dir, Roots: c.f.Call.Workspace(), FS: c.f.World})
	q := one.question()
	one.flags(&q, a, false)
	return one.parts(text, a, append(out, q), depth)
}

// argument returns the arguments of a call that has one, a text.
func argument(key, text string) *tree.Node {
	value := &tree.Node{Kind: tree.String, Str: text}
	return &tree.Node{Kind: tree.Object, Members: []tree.Member{{Key: key, Value: value}}}
}

// unwrapped returns the text that a shell is given to run, such as `rm x` of `bash -c 'rm x'`.
func unwrapped(text string) (string, bool) {
	program, rest, _ := strings.Cut(text, " ")
	switch strings.ToLower(path.Base(program)) {
	case "sh", "bash", "zsh":
	default:
		return "", false
	}
	flag, inner, ok := strings.Cut(strings.TrimSpace(rest), " ")
	inner = strings.TrimSpace(inner)
	if !ok || flag != "-c" || inner == "" {
		return "", false
	}
	if n := len(inner); n >= 2 && inner[0] == inner[n-1] && (inner[0] == '"' || inner[0] == '\'') {
		quote := inner[0]
		if inner = inner[1 : n-1]; quote == '"' {
			inner = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\`", "`").Replace(inner)
		}
	}
	return inner, true
}

// parsed tells whether a line could be read, and runs something.
func parsed(a *effect.Analysis) bool {
	return len(a.Commands) > 0 && kit.Parsed(a)
}

// redirected tells whether a line has a redirect.
func redirected(a *effect.Analysis) bool {
	return slices.ContainsFunc(a.Constructs, func(c shell.Construct) bool {
		switch c.Kind {
		case shell.RedirectIn, shell.RedirectOut, shell.HereDoc, shell.HereString:
			return true
		}
		return false
	})
}

// dangerous tells whether a command is asked about although a rule allows all commands.
func dangerous(c *effect.Command) bool {
	if len(c.Words) < 2 {
		return false
	}
	switch c.Program {
	case "rm":
		return slices.Contains([]string{"-f", "-rf", "-fr"}, c.Words[1].Text)
	case "sudo":
		return dangerous(&effect.Command{Program: path.Base(c.Words[1].Text), Words: c.Words[1:]})
	case "ln":
		return slices.ContainsFunc(c.Args(), func(w shell.Word) bool {
			return w.Text == "--symbolic" ||
				kit.Short(w.Text, "s")
		})
	}
	words := tables()["dangerous "+c.Program]
	return slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return slices.Contains(words, w.Text) })
}

// safe tells whether a line is one command that Gemini CLI may know, and that provably only
// reads, in the workspace and no secret.
func (c *asked) safe(a *effect.Analysis) bool {
	if len(a.Commands) != 1 || !a.ReadOnly || !a.Full {
		return false
	}
	cmd := &a.Commands[0]
	if !slices.Contains(tables()["safe programs"], cmd.Path) || len(cmd.Env) > 0 {
		return false
	}
	if cmd.Path == "git" && (len(cmd.Words) < 2 || !slices.Contains(tables()["safe git"], cmd.Words[1].Text)) {
		return false
	}
	for i := range a.Effects {
		switch e := &a.Effects[i]; {
		case e.Secret || e.Where != "" || e.Kind == effect.Connect, e.Kind == effect.Read && !c.inWorkspace(e.Real),
			e.Kind != effect.Read && !e.Harmless:
			return false
		}
	}
	return true
}
