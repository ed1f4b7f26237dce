package qwen

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/internal/format/textedit"
)

// Dialect reads Qwen Code's settings. The zero value is ready for use.
type Dialect struct{ claudecode.Dialect }

var _ dialect.Layered = Dialect{}

const settings = ".qwen/settings.json"

// Name returns "qwen".
func (Dialect) Name() string { return "qwen" }

// Info says where a project keeps its settings. A deny rule of any layer stands.
func (d Dialect) Info() dialect.Info {
	info := d.Dialect.Info()
	info.Files, info.Default, info.Agents = []string{settings}, settings, []string{"qwen"}
	return info
}

// Places returns where Qwen Code reads settings, lowest precedence first.
func (Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var p dialect.Places
	p.Add(dialect.LayerUser, w.Home, settings)
	p.Add(dialect.LayerProject, w.Dir, settings)
	p.Add(dialect.LayerManaged, w.Managed("/etc/qwen-code", "/Library/Application Support/QwenCode",
		`C:\ProgramData\qwen-code`), "settings.json")
	return p, nil
}

// Detect knows settings by their place.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	return claudecode.Settings(f, textedit.JSONC, strings.HasSuffix(path.Dir(f.Slashed()), ".qwen") &&
		path.Base(f.Slashed()) == path.Base(settings))
}

// Speaks tells whether settings have a list of rules or a mode.
func (Dialect) Speaks(f *dialect.File) bool {
	root, _ := textedit.JSONC.Parse(f.Data)
	said := func(l claudecode.List) bool { return root.At(claudecode.Path(l.Key)...) != nil }
	return root == nil || root.Get("permissions") != nil || slices.ContainsFunc(family.More, said)
}

// family is how Qwen Code differs from Claude Code. Its modes have other names, and lists of tools from before there
// were permissions count as well.
var family = claudecode.Family{
	Name: "qwen", Format: textedit.JSONC, Rule: rule,
	More: []claudecode.List{
		{Key: []string{"tools", "allowed"}, Verdict: obstat.Allow},
		{Key: []string{"tools", "exclude"}, Verdict: obstat.Deny},
		{Key: []string{"allowedTools"}, Verdict: obstat.Allow},
		{Key: []string{"excludeTools"}, Verdict: obstat.Deny},
	},
	Mode: []string{"tools", "approvalMode"},
	Modes: map[string]string{"plan": "plan", "default": "default", "auto-edit": "acceptEdits", "auto": "auto",
		"yolo": "bypassPermissions"},
}

// Load reads the files: rules of all layers together, scalars of the highest.
func (Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) { return family.Load(in) }

// Lint says nothing: Claude Code's traps are about its own names and wrappers.
func (Dialect) Lint(*dialect.Input, *obstat.Program) obstat.Errors { return nil }

// names are Qwen Code's names for tools, its own and those of its classes, by Claude Code's.
var names = map[string]string{
	"run_shell_command": "Bash", "Shell": "Bash", "ShellTool": "Bash",
	"read_file": "Read", "ReadFile": "Read", "grep_search": "Grep", "SearchFiles": "Grep", "glob": "Glob",
	"FindFiles": "Glob", "list_directory": "LS", "ListFiles": "LS",
	"edit": "Edit", "EditFile": "Edit", "write_file": "Write", "WriteFile": "Write", "replace": "Edit",
	"notebook_edit": "NotebookEdit", "web_fetch": "WebFetch", "web_search": "WebSearch", "task": "Agent",
	"agent": "Agent", "skill": "Skill", "todo_write": "TodoWrite",
}

// rule writes a rule in Claude Code's notation. Of a tool that has no rules with content there, `write_file(docs/**)`,
// it is one about all tools that read, or all that change files.
func rule(text string, _ obstat.Verdict) ([]string, string) {
	tool, content, called := strings.Cut(text, "(")
	name, known := names[strings.TrimSpace(tool)]
	if !known {
		name = tool
	}
	if called {
		switch name {
		case "Write", "NotebookEdit":
			name = "Edit"
		case "Grep", "Glob", "LS":
			name = "Read"
		case "WebFetch": // `WebFetch(example.com)`, as Qwen Code writes it
			if host := strings.TrimSuffix(content, ")"); !strings.HasPrefix(host, "domain:") {
				content = "domain:" + content
			}
		}
		return []string{name + "(" + content}, ""
	}
	return []string{name}, ""
}
