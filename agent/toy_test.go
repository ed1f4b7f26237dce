package agent

import (
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
)

// Toy is an invented agent: this file, and the line `Toy(),` in [All], are all that it takes to
// add one. TestToyBuilt makes an obstat of them.
func Toy() *Agent {
	return &Agent{
		Name: "toy", Title: "Toy", Patience: time.Minute,
		wire: wire{
			marks: func(s *sent) likeness { return surelyIf(s.has("toyVersion")) },
			decode: func(p *payload, e *Event) {
				p.keys(p.root, "toyVersion does with where")
				e.Call = &obstat.Call{Tool: p.need(p.root, "does"), Input: p.input(p.root, "with", false), Dir: p.text(p.root, "where")}
			},
			encode: func(_ *Event, a *answer) Reply {
				if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
					return reply(obj("go", true), "", 0)
				}
				return reply(obj("go", false, "because", a.reason), a.reason, exitDeny)
			},
			modes:   []Mode{{Name: AnyMode, Allow: Idle, Says: "Toy's own rules follow."}},
			askings: []Asking{{Way: "always", At: AtObstat}},
		},
		settings: settings{
			events: []string{"BeforeDoing"}, limit: patient, format: textedit.JSON, guard: guardSuffix,
			form: form{commands: []string{"run"}, timeout: "seconds", unit: time.Second},
			places: []place{
				{scope: User, env: "TOY_HOME", under: ".toy", path: "toy.json", install: true},
				{scope: Project, path: ".toy/toy.json", install: true},
			},
			honours: func(_ *Hook, s *said) Outcome { return blockedIf(!isBool(s.object.Get("go"), true)) },
			forge: func(_, dir string, p probe) object {
				tool, args := p.as("sh", "put", "file", "text")
				return obj("toyVersion", 1, "does", tool, "with", args, "where", dir)
			},
			check: func(s *Setup) {
				for _, f := range s.Files {
					if n := f.root.Get("playful"); isBool(n, true) {
						s.off(f, n, "playful: Toy runs no hooks")
					}
				}
			},
			servers: jsonServers(".toy/mcp.json", ".toy", "mcp.json"),
			version: "1", covers: []Limit{{"asking", No, "Toy cannot ask."}},
			brief: "no | denied | no | denied",
		},
		traits: traits{programs: "toy", process: "toyd", sets: "TOY_SESSION", clients: "toy-client", bare: "--unhooked",
			off: "TOY_ALONE", policies: "toy-rules.txt", setsIn: ".toy/toy.json"},
	}
}
