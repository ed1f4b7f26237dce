package agent

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// An Event is one payload that an agent sent to its hook.
type Event struct {
	Agent string // whose form the reply takes; "" is not known
	Name  string // the event, as the agent calls it
	// Call is the tool call to decide, nil where the event is about none.
	Call *obstat.Call
	// Subagent is the kind of subagent that makes the call, "" for the agent
	// itself.
	Subagent string
	ToolUse  string // the agent's identifier of this call, if it has one
	// Housekeeping: the tool does nothing to the outside, such as waiting for a
	// subagent, and agents hang without it. Where no rule matches, it is left to
	// the agent.
	Housekeeping bool
	// Suggestions are rules that the agent itself offers to remember, in its own
	// notation: `Bash(npm test)`.
	Suggestions []obstat.Offer
	// Unattended: the agent runs without a user, so that its own prompt is a denial.
	// Started is the agent's command line, nil where that is not known: `crush --yolo` answers its own
	// prompts with yes.
	Started    []string
	Unattended bool
	// Done is the outcome of Call, which was decided before; nil: it is to be decided.
	Done *Done
	// Mode is the agent's mode as the payload has it, "" where it does not tell: `plan`. A policy is told
	// it, as Call.Mode, only where the word is one of its own.
	Mode string
	// Approved are patterns, by permission, that a person has approved for good in the agent's own prompt; nil where
	// the agent does not tell, and then its prompt is not counted on.
	Approved map[string][]string
	// Variant tells apart the forms that an agent has for one event.
	Variant string

	who *Agent // set by Decode
	bad error  // why the payload could not be read
}

// Options are for [Event.Encode]; nil means none.
type Options struct {
	// Answered: a person has approved this very call, or granted it before.
	Answered bool
	// Shown: the agent's own rules ask about this call, so that its prompt follows an ask.
	Shown bool
	// Accepted are rules for the agent itself to remember, in its notation, each
	// for its Scope; agents that cannot are not told.
	Accepted []obstat.Offer
	// Printed is the output of a call that is over, without its secrets, of which there are Secrets; nil: it has none.
	Printed []byte
	Secrets int
}

// A Reply is the output of a hook process and how it ended; Exit is negative where
// a signal ended it.
type Reply struct {
	Stdout, Stderr []byte
	Exit           int
}

// exitDeny is the exit code that agents take for a denial, with words on
// standard error.
const exitDeny = 2

// An answer is a decision on its way into an agent's form.
type answer struct {
	verdict  obstat.Verdict
	none     bool // no opinion
	reason   string
	input    []byte // rewritten, whole
	accepted []obstat.Offer
}

// Decode reads a payload of one of [All].
func Decode(name string, stdin []byte, getenv func(string) string) (*Event, error) {
	return All().Decode(name, stdin, getenv)
}

// Decode reads a payload. The event is never nil, and has the form of the agent
// that sent it as far as that could be told, so that an error can be answered with
// [Event.Refuse]. name is the agent according to the caller, "" if that is not
// known; getenv may be nil.
func (l List) Decode(name string, stdin []byte, getenv func(string) string) (*Event, error) {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	e := &Event{Agent: name}
	if l.Of(name) == nil {
		e.Agent = l.byEnv(getenv)
	}
	root, problems := jsonx.Parse(stdin, jsonx.Options{Fold: 1})
	if root.Is(tree.Object) { // a broken one may still tell its sender
		e.Name = eventName(root)
		e.Agent = l.sniff(&sent{root: root, told: e.Agent, event: e.Name, getenv: getenv})
	}
	if e.who = l.Of(e.Agent); e.who == nil {
		e.who = unknown()
	}
	p := &payload{src: stdin, root: root, getenv: getenv}
	switch i := slices.IndexFunc(problems, func(q tree.Problem) bool { return !q.Warning }); {
	case i >= 0:
		line, col := tree.LineCol(stdin, problems[i].Offset)
		p.fail("the hook's input cannot be read: %d:%d: %s", line, col, problems[i].Msg)
	case !root.Is(tree.Object):
		p.fail("the hook's input is not a JSON object")
	case name != "" && e.Agent == "":
		p.folded(root)
		p.fail("there is no agent %q; the agents are %s", name, strings.Join(l.Names(), ", "))
	default:
		p.read(e)
	}
	e.bad = p.err
	return e, p.err
}

// Who returns the agent that the event is from; for a name that [All] does not
// have, one that only ever denies.
func (e *Event) Who() *Agent {
	if e.who == nil || e.who.Name != e.Agent {
		if e.who = Of(e.Agent); e.who == nil {
			e.who = unknown()
		}
	}
	return e.who
}

// Encode answers the event with a decision. An event whose payload could not be
// read is denied.
func (e *Event) Encode(d *obstat.Decision, o *Options) Reply {
	if o == nil {
		o = &Options{}
	}
	switch {
	case e.Done != nil && o.Printed != nil && e.Who().Replaces(e.Name):
		return e.printed(o)
	case e.Done != nil:
		return Reply{} // there is nothing to answer any more
	case e.bad != nil:
		return e.Refuse(e.bad.Error())
	case e.Call == nil:
		return e.Who().encode(e, &answer{none: true})
	}
	a := e.asked(d, o)
	if o.Shown && d.Verdict == obstat.Ask {
		a.none = true
	}
	if a.none {
		a.input = nil
	} else {
		a = e.restrained(a, d, o)
	}
	return e.Who().encode(e, a)
}

// asked returns a decision as an answer, whatever mode the agent is in.
func (e *Event) asked(d *obstat.Decision, o *Options) *answer {
	return &answer{verdict: d.Verdict, reason: words(d.Reason()), input: d.Input, accepted: o.Accepted, none: e.Left(d)}
}

// restrained holds an answer against the agent's mode: an allow that would outrank the agent's own word
// becomes no opinion, an ask that it may not show a denial.
func (e *Event) restrained(a *answer, d *obstat.Decision, o *Options) *answer {
	switch {
	case a.verdict == obstat.Ask && !e.mode().Asks:
		return a.deniedBecause(e.unshown())
	case e.Silent(d, o.Answered) == "":
		return a
	}
	if a.input != nil && !e.Who().alters {
		return a.fixed()
	}
	b := *a
	b.none = true
	return &b
}

// unshown begins the reason of a denial that stands for an ask which the agent is not known to show.
func (e *Event) unshown() string {
	if e.Mode == "" {
		return nobodyAsked
	}
	return fmt.Sprintf("this call needs a person's approval, which %s is not proved to ask for in the mode %s: ",
		e.Who().Title, words(e.Mode))
}

// Left tells whether a call is left to the agent: its tool does nothing to the outside, and no rule of a
// person's names it. A rule for all tools is a default; so is opencode's own against `plan_exit`, which is in no file.
func (e *Event) Left(d *obstat.Decision) bool {
	if !e.Housekeeping || len(d.Faults) > 0 {
		return false
	}
	return d.Rule == nil || d.Rule.Tool.IsZero() || d.Rule.Layer == builtIn
}

// builtIn is the layer of rules that an agent brings along.
const builtIn = "defaults"

// Prompts tells whether the agent asks a person in its own prompt, where its own rules do: it says which patterns were
// approved there, and no word of its command line answers for the person, such as `--auto`.
func (e *Event) Prompts() bool { return e.Approved != nil && e.plain() }

// Again tells whether the agent asks for the call once more, before its own prompt.
func (e *Event) Again() bool { return e.Name == permissionRequest }

// AsksAgain tells whether the agent may ask twice for one call: before its rules, and before its prompt.
func (a *Agent) AsksAgain() bool { return slices.Contains(a.events, permissionRequest) }

// CanAsk tells whether an ask gets to a human through the agent itself; where it
// does not, [Event.Encode] denies.
func (e *Event) CanAsk(o *Options) bool {
	if !e.mode().Asks {
		return false
	}
	r := e.Encode(&obstat.Decision{Verdict: obstat.Ask}, o)
	return r.Exit != exitDeny && !bytes.Contains(r.Stdout, []byte(nobodyAsked)) &&
		!bytes.Contains(r.Stderr, []byte(nobodyAsked))
}

// Refuse answers the event with a denial because something went wrong.
func (e *Event) Refuse(why string) Reply {
	if e.Done != nil {
		return Reply{}
	}
	return e.Who().encode(e, &answer{reason: words("obstat could not decide this call, so it is denied: " + why)})
}

// maxWords bounds the reason that agents are told.
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
	if len(s) > maxWords { // the end says how to go on
		s = strings.ToValidUTF8(s[:maxWords*3/4], "") + " ... " + strings.ToValidUTF8(s[len(s)-maxWords/4:], "")
	}
	if strings.TrimSpace(s) == "" {
		return "denied by obstat"
	}
	return s
}

// mustChange is the reason by which an agent whose hooks cannot change arguments
// is denied a call that is allowed only with other ones.
const mustChange = "the call is allowed only with other arguments, and this agent cannot be told so"

// nobodyAsked begins the reason of a denial that stands for an ask.
const nobodyAsked = "this call needs a person's approval, and this agent's hook cannot ask for it: "

// denied returns a with an ask turned into a denial that says so.
func (a *answer) denied() *answer { return a.deniedBecause(nobodyAsked) }

func (a *answer) deniedBecause(why string) *answer {
	b := *a
	if b.verdict == obstat.Ask {
		b.verdict, b.reason = obstat.Deny, why+a.reason
	}
	return &b
}

// fixed returns a for an agent that cannot change arguments.
func (a *answer) fixed() *answer {
	if a.verdict == obstat.Deny || a.input == nil {
		return a
	}
	return &answer{reason: mustChange + ": " + a.reason}
}

// object is a JSON object to be written.
type object = jsonx.Object

// obj returns an object with the keys and values: obj("decision", "deny").
func obj(kv ...any) object {
	var o object
	for i := 0; i+1 < len(kv); i += 2 {
		o = append(o, jsonx.Field{Key: kv[i].(string), Value: kv[i+1]})
	}
	return o
}

// with returns o with one more key where there is arguments' JSON, which is put
// in as it is. If it is not JSON, the reply cannot be written, and so denies.
func with(o object, key string, input []byte) object {
	if input == nil {
		return o
	}
	n, problems := jsonx.Parse(input, jsonx.Options{NUL: true})
	if tree.Fatal(problems) {
		return append(o, jsonx.Field{Key: key, Value: errors.New("not JSON")})
	}
	return append(o, jsonx.Field{Key: key, Value: n})
}

// reply builds a Reply; an object that cannot be written leaves words and an exit
// code that deny.
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
		return Reply{Stderr: fmt.Appendf(nil, "obstat: the reply cannot be written: %v\n", err), Exit: exitDeny}
	}
	r.Stdout = append(b, '\n')
	return r
}
