package copilot

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Dialect reads Copilot's approvals. The zero value is ready for use.
type Dialect struct{}

var _ dialect.Layered = Dialect{}

// The files of a project, VS Code's first, and the user's of Copilot CLI.
const (
	fileEditor = ".vscode/settings.json"
	fileCLI    = ".github/copilot/settings.json"
	fileLocal  = ".github/copilot/settings.local.json"
	fileUser   = ".copilot/settings.json"
	fileAsked  = ".copilot/permissions-config.json" // answers, by directory
)

// places are the directories and names by which a file is known; dotfiles are kept without the dot.
var places = []string{fileEditor, "vscode/settings.json", "User/settings.json", "copilot/settings.json",
	"copilot/settings.local.json", fileUser, fileAsked}

// Name returns "copilot".
func (Dialect) Name() string { return "copilot" }

// Info says where a project keeps its approvals.
func (Dialect) Info() dialect.Info {
	return dialect.Info{Files: []string{fileEditor, fileCLI, fileLocal}, Default: fileEditor, Agents: []string{"copilot"},
		DenyWins: true, Sees: claudecode.Dialect{}.Info().Sees}
}

// Places returns where VS Code and Copilot CLI read settings, lowest precedence first.
func (Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	editor := dialect.OnSystem(".config", "Library/Application Support", "AppData/Roaming") + "/Code/User/settings.json"
	var p dialect.Places
	p.Add(dialect.LayerUser, w.Home, editor, fileUser)
	p.Add(dialect.LayerProject, w.Dir, fileEditor, fileCLI)
	p.Add(dialect.LayerLocal, w.Dir, fileLocal)
	return p, nil
}

// Detect knows the files by their place.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	name := path.Base(path.Dir(f.Slashed())) + "/" + path.Base(f.Slashed())
	return claudecode.Settings(f, textedit.JSONC, slices.Contains(places, name))
}

// Speaks tells whether settings have approvals. Those with a theme alone do not.
func (Dialect) Speaks(f *dialect.File) bool {
	root, _ := textedit.JSONC.Parse(f.Data)
	return root == nil || slices.ContainsFunc(approvals, func(a approval) bool { return root.Get(a.key) != nil })
}

// Load reads the files: approvals of all layers together, and a question of any of them stands.
func (Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	r := &reader{set: map[string]bool{}}
	for i := range in.Files {
		root, _ := textedit.JSONC.Parse(in.Files[i].Data)
		r.look(root)
	}
	family := claudecode.Family{Name: "copilot", Format: textedit.JSONC, Entries: r.entries}
	return family.Load(in)
}

// Asks returns the questions that Claude Code has built in, which hold here as well.
func (Dialect) Asks() []string { return claudecode.Dialect{}.Asks() }

// Library returns the view of this dialect's Programs.
func (Dialect) Library() *obstat.Library { return claudecode.Dialect{}.Library() }

// Lint says nothing: Claude Code's traps are about its own notation.
func (Dialect) Lint(*dialect.Input, *obstat.Program) obstat.Errors { return nil }

// A reader makes rules of settings.
type reader struct {
	set    map[string]bool // the commands that some file has a say about, so that VS Code's own say is gone
	editor bool            // some file is about VS Code's terminal
	bare   bool            // VS Code's own rules are switched off
	off    bool            // approvals for the terminal are switched off
}

// look notes the settings that count across files.
func (r *reader) look(root *tree.Node) {
	is := func(key string, want bool) bool { n := root.Get(key); return n.Is(tree.Bool) && n.Bool == want }
	r.bare = r.bare || is("chat.tools.terminal.ignoreDefaultAutoApproveRules", true)
	r.off = r.off || is("chat.tools.terminal.enableAutoApprove", false)
	for _, a := range approvals {
		if n := root.Get(a.key); n.Is(tree.Object) && strings.Contains(a.key, "terminal") {
			r.editor = true
			for _, m := range n.Members {
				r.set[m.Key] = true
			}
		}
	}
}

// entries returns the rules of a file, or those that VS Code brings along.
func (r *reader) entries(root *tree.Node) (out []claudecode.Entry) {
	if root == nil {
		return r.defaults()
	}
	if n := root.Get("locations"); n.Is(tree.Object) && len(n.Members) > 0 {
		out = append(out, claudecode.Entry{At: n,
			Says: "answers that Copilot CLI keeps for single directories are not taken over",
			Hint: "say what is meant for a project in its obstat.yaml"})
	}
	for _, a := range approvals {
		n := root.Get(a.key)
		switch {
		case n == nil:
		case a.says != "":
			if n.Is(tree.Bool) && n.Bool || n.Is(tree.String) && n.Str == a.when {
				out = append(out, claudecode.Entry{At: n, Says: a.says, Hint: a.hint})
			}
		case n.Is(tree.Object):
			if a.old != "" {
				out = append(out, claudecode.Entry{At: n, Says: a.old, Hint: "use chat.tools.terminal.autoApprove"})
			}
			for _, m := range n.Members {
				out = append(out, r.member(&a, m.KeyNode, m.Key, m.Value)...)
			}
		case n.Is(tree.Array):
			for _, e := range n.Items() {
				if e.Is(tree.String) {
					out = append(out, a.entry(e, e.Str, a.verdict))
				}
			}
		default:
			out = append(out, claudecode.Entry{At: n, Says: "this is neither an object nor a list, and not read"})
		}
	}
	return out
}

// member reads one approval: `true`, `false`, `null` for none, or an object that says what is looked at.
func (r *reader) member(a *approval, at *tree.Node, key string, v *tree.Node) []claudecode.Entry {
	line := v.Get("matchCommandLine").Is(tree.Bool) && v.Get("matchCommandLine").Bool
	for _, k := range []string{"approve", "approveRequest"} {
		if n := v.Get(k); n != nil {
			v = n
			break
		}
	}
	switch {
	case v.Is(tree.Null):
		return nil
	case !v.Is(tree.Bool):
		return []claudecode.Entry{{At: at, Verdict: obstat.Allow, Why: "an approval is true, false or null"}}
	}
	verdict := obstat.Allow
	if v.Bool == a.denies || !v.Bool {
		verdict = obstat.Ask
	}
	if verdict == obstat.Allow && (a.old != "" || r.off && a.form == nil) {
		return nil // VS Code approves nothing by it
	}
	if a.form != nil {
		return []claudecode.Entry{a.entry(at, key, verdict)}
	}
	e := command(key, verdict, line)
	e.At = at
	return []claudecode.Entry{e}
}

//go:embed defaults.txt
var defaultsText string

// defaults returns the questions that VS Code brings along. Its own approvals are left to the view, which knows the
// commands that only read.
func (r *reader) defaults() (out []claudecode.Entry) {
	if !r.editor || r.bare {
		return nil
	}
	for text := range strings.Lines(defaultsText) {
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' && !r.set[text] {
			out = append(out, command(text, obstat.Ask, false))
		}
	}
	return out
}
