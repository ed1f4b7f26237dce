// Package agent knows the agents that people run, one file for each: the wire
// protocol of its hooks, the settings file that names them, which replies it
// honours, how long it waits, the calls that prove that its hook holds, and the
// programs, flags, variables and files by which it is recognised and guarded.
//
// A hook process decodes the call with [Decode], has it decided, and answers with
// [Event.Encode]; every failure comes out as a denial in the form that this agent
// honours, since nearly all of them run the call when their hook fails.
//
// The package decides nothing and runs nothing, and it reads and writes files only
// where a function says so. Adding an agent is one file with its value and one line
// in [All]: docs/contributing/agent.md walks through it.
package agent

import (
	"slices"
	"strings"
	"time"
)

// An Agent is all that obstat knows of one agent. Its behaviour is in its fields:
// nothing outside its own file compares names.
type Agent struct {
	Name  string // as in `obstat hook NAME`
	Title string // as its makers write it

	// Dialect names the dialect of the rules that the agent itself keeps, such as
	// `claudecode`; "" if obstat reads none of its files.
	Dialect string
	// ModelDir: the working directory of a call is one that the model chose for it,
	// not the agent's own.
	ModelDir bool
	// Patience is how long the agent waits for a hook whose entry names no time,
	// and so how long a hook may wait for a person.
	Patience time.Duration

	wire
	settings
	traits
}

// wire is an agent's hook protocol.
type wire struct {
	// variable is set by the agent for its hooks, and tells it where the payload
	// does not: `COPILOT_CLI`.
	variable string
	// marks tells how surely a payload is this agent's; nil never claims one.
	marks func(*sent) likeness
	// decode fills the event from the payload; problems go to the payload.
	decode func(*payload, *Event)
	encode func(*Event, *answer) Reply
	// housekeeping are tools, separated by blanks, that touch nothing outside of
	// the agent and that it hangs without.
	housekeeping string
	// fileTools are its tools, separated by blanks, that have to name a file.
	fileTools string
	// others are its tools besides those for commands and files, each with the argument
	// that names its object: `read=Read:file_path fetch=WebFetch:url`. Where another event
	// than the first asks about it, that follows: `read=Read:file_path:beforeReadFile`.
	others string
	// lists: the command of a shell tool may be a list, a program and its arguments.
	lists bool

	// modes says how an allow and an ask work in each of the agent's modes.
	modes []Mode
	// askings says where an ask goes in each way to run the agent.
	askings []Asking
	// starts are words of the agent's command line, separated by blanks, that change the
	// effect of its hook's answer: `--deny-tool`. See [Mode.Plain].
	starts string
	// mute are tools, separated by blanks, whose prompt does not show the reason of a hook that asks.
	mute string
	// alters: changed arguments count without a decision beside them.
	alters bool
	// changes are the events, or events with a mode behind a colon, at which the changed text of a
	// command was seen to run beside an allow: `PreToolUse`. Its own rules match that text alone.
	changes string
	// driven is how it is started to see whether changed commands run; nil where that was never done.
	driven *Drive
	// printed answers an event after a call, one of printedAt, with an output that the model gets in place of the tool's,
	// and told as a word about it; nil: the agent takes none.
	printed   func(e *Event, told string, out []byte) Reply
	printedAt string
	// ruleless: it has no rules of its own that a changed command could get around.
	ruleless bool
	// rulesBy are words of its command line, separated by blanks, that bring rules along:
	// `--disallowedTools`.
	rulesBy string
	// unboxed are arguments, separated by blanks, by which a call asks to leave the agent's sandbox.
	unboxed string
	// unboxedBy are words of its command line, separated by blanks, of which one has to be there for commands to run
	// outside a sandbox of its own: a ticket cannot be spent inside. "" where it has none by default.
	unboxedBy string
	// boxedBy is the key of its settings, with dots, that has commands run in a sandbox of its own: `sandbox.enabled`.
	boxedBy string
}

// A List is the agents that something is done for.
type List []*Agent

// All returns every agent, in the order in which a payload is held against their
// marks.
func All() List {
	return List{
		antigravity(),
		windsurf(),
		cline(),
		openCode(),
		pi(),
		amp(),
		openClaw(),
		vsCode(),
		copilot(),
		cursor(),
		kiro(),
		droid(),
		codex(),
		gemini(),
		generic(),
		crush(),
		qwen(),
		claudeCode(),
	}
}

// Of returns the agent with the name, nil if the list has none.
func (l List) Of(name string) *Agent {
	for _, a := range l {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Names returns the names of the agents, sorted.
func (l List) Names() (out []string) {
	for _, a := range l.sorted() {
		out = append(out, a.Name)
	}
	return out
}

// sorted returns the list by name.
func (l List) sorted() List {
	return slices.SortedFunc(slices.Values(l), func(a, b *Agent) int { return strings.Compare(a.Name, b.Name) })
}

// Of returns the agent of [All] with the name, nil if there is none.
func Of(name string) *Agent { return All().Of(name) }

// Agents returns the names of [All].
func Agents() []string { return All().Names() }

// OfClient returns the name of the agent whose MCP client calls itself client, such as
// `gemini-cli-mcp-client` or `codex-mcp-client-vscode`; "" if none does.
func OfClient(client string) string {
	client = strings.ToLower(client)
	for _, a := range All() {
		for name := range strings.FieldsSeq(a.clients) {
			if client == name || strings.HasPrefix(client, name+"-mcp-client") {
				return a.Name
			}
		}
	}
	return ""
}

// unknown answers an agent that is not in the list: with the denial that most
// agents take, and never with anything else.
func unknown() *Agent {
	return &Agent{Patience: 30 * time.Second, wire: wire{
		decode: func(p *payload, _ *Event) {
			p.fail("it cannot be told which agent this is: name it, as in `obstat hook claude-code`")
		},
		encode: func(_ *Event, a *answer) Reply {
			if a.none {
				a = &answer{reason: "it cannot be told which agent asks"}
			}
			return reply(nil, a.reason, exitDeny)
		}}}
}
