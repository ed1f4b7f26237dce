package claudecode

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// The fields of rules. Paths are given absolute and from each place that a
// pattern can be anchored in; a path outside of that place has no such field.
const (
	fieldCommand   = "command"   // a command, for allow rules with a wildcard
	fieldAssigned  = "assigned"  // a command with the variables that are set for it, for allow rules that name them
	fieldExact     = "exact"     // a command, or the whole line, for allow rules without
	fieldSeen      = "seen"      // every spelling of a command, for deny and ask rules
	fieldAbs       = "abs"       // from the root of the file system
	fieldHome      = "home"      // from the home directory
	fieldRoot      = "root"      // from the project
	fieldUser      = "user"      // from ~/.claude
	fieldCwd       = "cwd"       // from the project, for a pattern that may be meant at any depth
	fieldAbove     = "above"     // from the project to a path that is not in it: `../other/x`
	fieldDomain    = "domain"    // of a URL
	fieldAgent     = "agent"     // kind of a subagent
	fieldSkill     = "skill"     // name and arguments
	fieldParam     = "param."    // + name: an input field
	fieldReadOnly  = "read-only" // this and the next: properties of a call
	fieldCritical  = "critical"
	fieldProtected = "protected"
	fieldInside    = "inside"
	fieldScoped    = "scoped"
)

//go:embed tables.txt
var tablesText string

var tables = sync.OnceValue(func() map[string][]string { return kit.Tables(tablesText) })

// list returns a list of tables.txt.
func list(name string) []string { return tables()[name] }

// listed tells whether a word is in a list of tables.txt.
func listed(name, word string) bool { return slices.Contains(list(name), word) }

var (
	shellTools = []string{"Bash", "Monitor", "PowerShell"}
	bashTools  = []string{"Bash", "Monitor"}
	readTools  = []string{"Read", "Grep", "Glob", "LSP", "NotebookRead", "LS"}
	editTools  = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
	// freeTools touch nothing that a permission is asked for.
	freeTools = []string{"TodoWrite", "TodoRead", "TaskOutput", "BashOutput", "TaskList", "TaskGet", "TaskCreate",
		"TaskUpdate", "TaskStop", "KillShell", "KillBash", "ToolSearch", "EnterPlanMode", "ListMcpResources"}
	// otherTools are the names besides, for the linter.
	otherTools = []string{"Agent", "Task", "WebFetch", "WebSearch", "Skill", "SlashCommand", "Cd", "AskUserQuestion",
		"ExitPlanMode", "Workflow", "ReadMcpResource", "SendMessage", "TeamCreate", "TeamDelete"}
)

// primary returns the fields that a rule looks at through its own notation.
func primary(tool string) []string {
	switch tool {
	case "Bash", "PowerShell", "Monitor":
		return []string{"command"}
	case "Read", "Edit", "Write", "MultiEdit":
		return []string{"file_path"}
	case "Grep", "Glob":
		return []string{"path"}
	case "NotebookEdit", "NotebookRead":
		return []string{"notebook_path"}
	case "WebFetch":
		return []string{"url"}
	}
	return nil
}

// toolLists are all of Claude Code's tools.
var toolLists = [][]string{shellTools, readTools, editTools, freeTools, otherTools}

func knownTool(name string) bool {
	return slices.ContainsFunc(toolLists, func(list []string) bool { return slices.Contains(list, name) })
}

// canonical are Claude Code's names for the kinds of tools in the catalogue.
var canonical = map[string]string{
	"shell": "Bash", "powershell": "PowerShell", "kill": "TaskStop", "none": "TaskOutput", "todo": "TodoWrite",
	"read": "Read", "list": "LS", "glob": "Glob", "grep": "Grep", "fetch": "WebFetch", "search": "WebSearch",
	"write": "Write", "notebook": "NotebookEdit", "task": "Agent", "skill": "Skill",
	"edit": "Edit", "patch": "Edit", "delete": "Edit", "move": "Edit", "mkdir": "Edit",
}

// toolName returns Claude Code's name for a tool of any agent.
func toolName(tool string, t *effect.Tool) string {
	switch {
	case tool == "Task":
		return "Agent"
	case knownTool(tool) || t.Canonical == "question" || t.Canonical == "plan": // no rule answers for those: they ask the user
		return tool
	case t.Canonical == "mcp":
		return mcpName(tool, t)
	}
	return cmp.Or(canonical[t.Canonical], tool)
}

// anyOf is the Text that matches each of the names.
func anyOf(names ...string) obstat.Text {
	if len(names) == 1 {
		return obstat.Is(names[0])
	}
	return obstat.Text{Flavour: pattern.Full, Text: strings.Join(names, "|")} // names of tools are words
}
