// Package agent speaks the hook protocols of the agents that people run: it
// turns what an agent writes to a hook's standard input into an
// [obstat.Call], and a decision into what that agent reads back: standard
// output, standard error and exit code.
//
// It owns the wire formats, one file for each agent, how to tell the agents
// apart, and that every failure comes out as a denial in the form that the
// agent honours: nearly all of them run the call when their hook fails. It
// decides nothing, and reads and writes nothing itself.
package agent

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// The agents.
const (
	ClaudeCode  = "claude-code"
	Codex       = "codex"
	Gemini      = "gemini"
	OpenCode    = "opencode"
	Crush       = "crush"
	Cursor      = "cursor"
	Copilot     = "copilot"
	Windsurf    = "windsurf"
	Cline       = "cline"
	Antigravity = "antigravity"
	Generic     = "generic"
)

// A host is one agent's protocol.
type host interface {
	// decode fills e with what p says.
	decode(p *payload, e *Event) error
	// encode answers e.
	encode(e *Event, a *answer) Reply
}

func hostOf(agent string) host {
	switch agent {
	case ClaudeCode:
		return claudeCode{}
	case Codex:
		return codex{}
	case Gemini:
		return gemini{}
	case OpenCode:
		return openCode{}
	case Crush:
		return crush{}
	case Cursor:
		return cursor{}
	case Copilot:
		return copilot{}
	case Windsurf:
		return windsurf{}
	case Cline:
		return cline{}
	case Antigravity:
		return antigravity{}
	case Generic:
		return generic{}
	}
	return unknown{}
}

// Agents returns the names of the agents whose protocols are known.
func Agents() []string {
	return []string{Antigravity, ClaudeCode, Cline, Codex, Copilot, Crush, Cursor, Gemini, Generic, OpenCode, Windsurf}
}

// An Event is what an agent told its hook.
type Event struct {
	Agent string // whose form the reply takes; "" is not known
	Name  string // the event, as the agent calls it
	// Call is the tool call to decide, nil where the event is about none.
	Call *obstat.Call
	// Subagent is the kind of subagent that makes the call, "" for the agent
	// itself.
	Subagent string
	ToolUse  string // the agent's name for this very call, if it has one
	// Housekeeping: the tool does nothing to the outside (waiting for a subagent,
	// ending one), and agents hang without it. Where no rule speaks of it, it is
	// left to the agent.
	Housekeeping bool
	// Suggestions are rules that the agent itself would remember if somebody said
	// always, in its own notation.
	Suggestions []obstat.Offer
	// Variant tells apart the forms that an agent has for one event.
	Variant string
}

// Options are for [Event.Encode]; nil means none.
type Options struct {
	// Interactive: somebody sits at the agent. Some agents hang for ever on an
	// ask when nobody does, and do not say so.
	Interactive bool
	// Accepted are rules that the human wants remembered by the agent itself, in its
	// notation, each for its Scope; agents that cannot are not told.
	Accepted []obstat.Offer
}

// A Reply is what the hook process writes and how it ends.
type Reply struct {
	Stdout, Stderr []byte
	Exit           int
}

// exitDeny is the exit code that agents take for a denial, with words on
// standard error.
const exitDeny = 2

// An answer is a decision on its way into a host's form.
type answer struct {
	verdict     obstat.Verdict
	none        bool // no opinion
	reason      string
	input       []byte // rewritten, whole
	interactive bool
	failed      bool
	accepted    []obstat.Offer
}

// Decode reads what an agent wrote. The event is never nil, and in the form of
// the agent that sent it as far as that could be told, so that an error can be
// answered with [Event.Refuse]. agent is who the caller says it is, "" for
// nobody knows; getenv may be nil.
func Decode(agent string, stdin []byte, getenv func(string) string) (*Event, error) {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	e := &Event{Agent: agent}
	if !slices.Contains(Agents(), agent) {
		e.Agent = byEnv(getenv)
	}
	root, problems := jsonx.Parse(stdin, jsonx.Options{})
	if root.Is(tree.Object) { // even a broken one may tell who sent it
		e.Agent = sniff(e.Agent, root, getenv)
		e.Name = eventName(root)
	}
	if tree.Fatal(problems) {
		for _, p := range problems {
			if !p.Warning {
				line, col := tree.LineCol(stdin, p.Offset)
				return e, fmt.Errorf("the hook's input cannot be read: %d:%d: %s", line, col, p.Msg)
			}
		}
	}
	if !root.Is(tree.Object) {
		return e, errors.New("the hook's input is not a JSON object")
	}
	p := &payload{src: stdin, root: root, getenv: getenv}
	if err := p.folded(root); err != nil {
		return e, err
	}
	if agent != "" && !slices.Contains(Agents(), agent) && e.Agent == "" {
		return e, fmt.Errorf("there is no agent %q; the agents are %s", agent, strings.Join(Agents(), ", "))
	}
	if err := p.event(e); err != nil {
		return e, err
	}
	if err := hostOf(e.Agent).decode(p, e); err != nil {
		return e, err
	}
	return e, p.check(e)
}

// Encode answers the event with a decision.
func (e *Event) Encode(d *obstat.Decision, o *Options) Reply {
	if o == nil {
		o = &Options{}
	}
	if e.Call == nil {
		return hostOf(e.Agent).encode(e, &answer{none: true})
	}
	a := &answer{verdict: d.Verdict, reason: words(d.Reason()), input: d.Input, interactive: o.Interactive, accepted: o.Accepted}
	a.failed = len(d.Faults) > 0
	a.none = e.Housekeeping && d.Rule == nil && !a.failed
	return hostOf(e.Agent).encode(e, a)
}

// CanAsk tells whether an ask gets to a human through the agent itself; where it
// does not, [Event.Encode] denies.
func (e *Event) CanAsk(o *Options) bool {
	r := e.Encode(&obstat.Decision{Verdict: obstat.Ask}, o)
	return r.Exit != exitDeny && !bytes.Contains(r.Stdout, []byte(nobodyAsked)) && !bytes.Contains(r.Stderr, []byte(nobodyAsked))
}

// Refuse answers the event with a denial because something went wrong.
func (e *Event) Refuse(why string) Reply {
	return hostOf(e.Agent).encode(e, &answer{reason: words("obstat could not decide this call, so it is denied: " + why), failed: true})
}

// maxWords is how much of a reason agents are told.
const maxWords = 4000

// words makes a reason fit for a terminal and for a model: no control
// characters, not empty, not endless.
func words(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
	if len(s) > maxWords { // what to do about it stands at the end
		s = strings.ToValidUTF8(s[:maxWords*3/4], "") + " ... " + strings.ToValidUTF8(s[len(s)-maxWords/4:], "")
	}
	if strings.TrimSpace(s) == "" {
		return "denied by obstat"
	}
	return s
}

// mustChange is why a host that cannot change arguments denies an allow that
// has some.
const mustChange = "the call is allowed only with other arguments, and this agent cannot be told so"

// nobodyAsked is what a denial says where an ask has nobody to go to.
const nobodyAsked = "this call needs a person's approval, and this agent's hook cannot ask for it: "

// denied returns a with an ask turned into a denial that says so.
func (a *answer) denied() *answer {
	b := *a
	if b.verdict == obstat.Ask {
		b.verdict, b.reason = obstat.Deny, nobodyAsked+a.reason
	}
	return &b
}

// fixed returns a as a host sees it that cannot change arguments.
func (a *answer) fixed() *answer {
	if a.none || a.verdict == obstat.Deny || a.input == nil {
		return a
	}
	return &answer{reason: mustChange + ": " + a.reason}
}

// object is a JSON object in the making.
type object = jsonx.Object

// raw is JSON that is put in as it is. What is none cannot be written, and so
// the reply denies.
func raw(b []byte) any {
	n, problems := jsonx.Parse(b, jsonx.Options{NUL: true})
	if tree.Fatal(problems) {
		return errors.New("not JSON")
	}
	return n
}

// reply writes the parts of a Reply; an object that cannot be written leaves
// the words and the exit code, and these deny.
func reply(o object, stderr string, exit int) Reply {
	r := Reply{Exit: exit}
	if stderr != "" {
		r.Stderr = []byte(stderr + "\n")
	}
	if o == nil {
		return r
	}
	b, err := jsonx.Marshal(o)
	if err != nil {
		return Reply{Stderr: []byte("obstat: the reply cannot be written: " + err.Error() + "\n"), Exit: exitDeny}
	}
	r.Stdout = append(b, '\n')
	return r
}

// unknown is an agent that nobody knows: what most agents take for a denial,
// and nothing else, ever.
type unknown struct{}

func (unknown) decode(*payload, *Event) error {
	return errors.New("it cannot be told which agent this is: name it, as in `obstat hook claude-code`")
}

func (unknown) encode(_ *Event, a *answer) Reply {
	if a.none {
		a = &answer{reason: "it cannot be told which agent asks"}
	}
	return reply(nil, a.reason, exitDeny)
}

// absolute tells whether p is an absolute path of any system.
func absolute(p string) bool {
	if path.IsAbs(p) || strings.HasPrefix(p, `\\`) {
		return true
	}
	return len(p) >= 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}
