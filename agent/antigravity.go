package agent

import (
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/tree"
)

// Antigravity is the name of the agent, as in `obstat hook antigravity`.
const Antigravity = "antigravity"

// antigravity is Antigravity: the JSON decides, exit codes do not. Its settings
// are not known well enough to install into.
func antigravity() *Agent {
	return &Agent{
		Name: Antigravity, Title: "Antigravity", Patience: 30 * time.Second,
		wire: wire{
			marks:  func(s *sent) likeness { return surelyIf(s.has("toolCall") && !s.has("protocolVersion")) },
			decode: antigravityDecode, encode: antigravityEncode,
			modes: []Mode{{Name: AnyMode, Allow: Lifts, Says: "An allow approves the call; its own permissions decide."}},
		},
		traits: traits{programs: "antigravity", hooks: ".gemini/antigravity/hooks.json .agents/hooks.json"},
	}
}

func antigravityDecode(p *payload, e *Event) {
	p.keys(p.root, "toolCall conversationId")
	call := p.root.Get("toolCall")
	e.Call = p.toolCall(call)
	args := call.Get("args")
	e.Call.Dir, e.Call.Session = p.text(args, "Cwd"), p.text(p.root, "conversationId")
	if line := args.Get("CommandLine"); line.Is(tree.String) {
		e.Call.Input = p.made("command", line.Str)
	}
}

func antigravityEncode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none {
		return Reply{} // the user's own permissions decide
	}
	if a.verdict == obstat.Allow {
		return reply(obj("decision", "allow"), "", 0)
	}
	return reply(obj("decision", "block", "reason", a.reason), a.reason, exitDeny)
}
