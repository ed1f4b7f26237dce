package gemini

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
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
	risky := whole && (c.outside() || slices.ContainsFunc(a.Commands, func(cmd effect.Command) bool { return c.Floor && dangerous(&cmd) }) || len(a.Commands) > 0 && dangerous(&a.Commands[0]))
	for _, flag := range []struct {
		field string
		on    bool
	}{{fieldDoubt, bad || redirects || risky}, {fieldRough, bad || risky}, {fieldRedirect, bad || redirects}, {fieldUnparsed, bad}, {fieldSafe, whole && !bad && !redirects && !risky && c.safe(a)}} {
		if flag.on {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: flag.field, Text: c.text})
		}
	}
}

// outside tells whether the command is to be run out of the workspace.
func (c *asked) outside() bool {
	dir := c.args.Get("dir_path")
	if !dir.Is(tree.String) || dir.Str == "" {
		return false
	}
	at := paths.Resolver{FS: c.f.World, Dir: c.f.Call.Dir}.Literal(dir.Str).Abs
	return !slices.ContainsFunc(c.f.Call.Workspace(), func(root string) bool { return at != "" && paths.Inside(root, at) })
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
	args := &tree.Node{Kind: tree.Object, Members: []tree.Member{{Key: "command", Value: &tree.Node{Kind: tree.String, Str: text}}}}
	if dir := c.args.Get("dir_path"); dir != nil {
		args.Members = append(args.Members, tree.Member{Key: "dir_path", Value: dir})
	}
	one := &asked{view: c.view, f: c.f, tool: c.tool, args: args, text: stable(args)}
	a := effect.AnalyzeCommand(text, &effect.Options{Dir: c.f.Call.Dir, Roots: c.f.Call.Workspace(), FS: c.f.World})
	q := one.question()
	one.flags(&q, a, false)
	return one.parts(text, a, append(out, q), depth)
}

// unwrapped returns the text that a shell is given to run, such as `rm x` of `bash -c 'rm x'`.
func unwrapped(text string) (string, bool) {
	program, rest, _ := strings.Cut(text, " ")
	switch strings.ToLower(base(program)) {
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
	return len(a.Commands) > 0 && !slices.ContainsFunc(a.Gaps, func(g effect.Gap) bool { return g.Kind <= effect.ForeignShell || g.Kind == effect.BadInput })
}

// redirected tells whether a line has a redirect.
func redirected(a *effect.Analysis) bool {
	return slices.ContainsFunc(a.Constructs, func(c shell.Construct) bool {
		return c.Kind == shell.RedirectIn || c.Kind == shell.RedirectOut || c.Kind == shell.HereDoc || c.Kind == shell.HereString
	})
}

// dangerous tells whether a command is asked about although a rule allows all commands.
func dangerous(c *effect.Command) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return slices.Contains(words, w.Text) })
	}
	switch {
	case len(c.Words) < 2:
		return false
	case c.Program == "rm":
		return slices.Contains([]string{"-f", "-rf", "-fr"}, c.Words[1].Text)
	case c.Program == "sudo":
		inner := effect.Command{Program: base(c.Words[1].Text), Words: c.Words[1:]}
		return dangerous(&inner)
	case c.Program == "ln":
		return slices.ContainsFunc(c.Args(), func(w shell.Word) bool {
			return w.Text == "--symbolic" || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "s")
		})
	case c.Program == "find":
		return has("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf")
	case c.Program == "rg":
		return has("--pre", "--hostname-bin", "--search-zip", "-z")
	case c.Program == "git":
		return has("-c", "--config-env")
	}
	return false
}

// safePrograms are those that Gemini CLI may know to do nothing but read.
var safePrograms = []string{"cat", "cd", "cut", "echo", "expr", "false", "grep", "head", "id", "ls", "nl", "paste", "pwd", "rev", "seq", "stat", "tail", "tr", "true", "uname", "uniq", "wc",
	"which", "whoami", "numfmt", "tac", "base64", "find", "rg", "git", "sed"}

// safe tells whether a line is one command that Gemini CLI may know, and that provably only
// reads, in the workspace and no secret.
func (c *asked) safe(a *effect.Analysis) bool {
	if len(a.Commands) != 1 || !a.ReadOnly || !a.Full || !slices.Contains(safePrograms, a.Commands[0].Path) || len(a.Commands[0].Env) > 0 {
		return false
	}
	if words := a.Commands[0].Words; words[0].Text == "git" && (len(words) < 2 || !slices.Contains([]string{"status", "log", "diff", "show", "branch"}, words[1].Text)) {
		return false
	}
	for i := range a.Effects {
		switch e := &a.Effects[i]; {
		case e.Secret || e.Where != "" || e.Kind == effect.Connect:
			return false
		case e.Kind == effect.Read && !slices.ContainsFunc(c.f.Call.Workspace(), func(root string) bool { return paths.Inside(root, e.Real) }):
			return false
		case e.Kind != effect.Read && !e.Harmless:
			return false
		}
	}
	return true
}
