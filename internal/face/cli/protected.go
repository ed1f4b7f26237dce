package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/guard/doctor"
	"github.com/obstat/obstat/internal/keep/sqlite"
)

// agentJSON is how one agent that is used here stands.
type agentJSON struct {
	Agent string `json:"agent"`
	Title string `json:"title"`
	// Asks: its settings hold obstat's hooks. Doctor is the last finding of `obstat doctor`, holds or broken.
	Asks     bool      `json:"asks"`
	Doctor   string    `json:"doctor,omitempty"`
	DoctorAt time.Time `json:"doctor_at,omitzero"`
}

// The answers to "am I protected".
const (
	protectedYes      = "yes"
	protectedUnproved = "unproved" // the hooks are there, and `obstat doctor` has not tried each
	protectedNo       = "no"
	protectedNoAgent  = "no-agent"
)

// agents looks at the settings of the agents that are used here; it starts none of them.
func (o *statusOptions) agents(proofs []client.AgentSeen) (out []agentJSON) {
	home, _ := o.World.Home("")
	where := &agent.Where{Home: home, Getenv: os.Getenv}
	if dir, err := o.dir(o.Policy.Dir); err == nil && dir != home {
		where.Projects = []string{dir}
	}
	for _, a := range agent.All().Installable() {
		setup := a.Look(where)
		if !setup.Used && len(setup.Hooks) == 0 {
			continue
		}
		seen := agentJSON{Agent: a.Name, Title: a.Title, Asks: len(setup.Hooks) > 0}
		if i := slices.IndexFunc(proofs, func(p client.AgentSeen) bool { return p.Agent == a.Name }); i >= 0 {
			seen.Doctor, seen.DoctorAt = proofs[i].Doctor, proofs[i].DoctorAt
		}
		out = append(out, seen)
	}
	return out
}

// proofs returns the findings of `obstat doctor` that a store keeps; one that cannot be read proves nothing.
func proofs(ctx context.Context, s *sqlite.Store) []client.AgentSeen {
	seen, err := server.Seen(ctx, s)
	if err != nil {
		return nil
	}
	return seen
}

// protected answers whether every agent that is used here asks obstat, as far as that was proved.
func protected(agents []agentJSON) string {
	out := protectedNoAgent
	for _, a := range agents {
		switch {
		case !a.Asks || a.Doctor == string(doctor.Broken):
			return protectedNo
		case a.Doctor != string(doctor.Holds):
			out = protectedUnproved
		case out == protectedNoAgent:
			out = protectedYes
		}
	}
	return out
}

// protection writes the first lines of the status: the answer, then a line for each agent.
func (s *screen) protection(st *statusJSON) {
	var open, broken []string
	for _, a := range st.Agents {
		switch {
		case !a.Asks:
			open = append(open, a.Agent)
		case a.Doctor == string(doctor.Broken):
			broken = append(broken, a.Agent)
		}
	}
	var look ink
	var head, text string
	switch {
	case len(st.Errors) > 0:
		look, head, text = red, "STUCK", "the policy cannot be loaded; what was accepted before decides, or all is denied"
	case len(open) > 0:
		look, head, text = red, "NOT PROTECTED", "obstat is not asked by "+strings.Join(open, ", ")+
			": obstat install "+strings.Join(open, " ")
	case len(broken) > 0:
		look, head, text = red, "NOT PROTECTED", "obstat doctor says why, of "+strings.Join(broken, ", ")
	case st.Protected == protectedNoAgent:
		look, head, text = yellow, "NO AGENT", "none that obstat knows is used here: obstat install NAME"
	case st.Protected == protectedUnproved:
		look, head, text = yellow, "PROTECTED", "by the settings; obstat doctor proves it"
	default:
		look, head, text = green, "PROTECTED", "every agent here asks obstat"
	}
	for i, l := range wrap(visible(text), s.width-len(head)-2) {
		lead := s.io.paint(look+";1", head)
		if i > 0 {
			lead = strings.Repeat(" ", len(head))
		}
		s.printf("%s  %s\n", lead, l)
	}
	s.margin = len("confine ")
	var rows [][2]string
	for _, a := range st.Agents {
		rows = append(rows, [2]string{a.Agent, agentWords(&a)})
	}
	s.rows("agents", rows...)
}

// agentWords says how an agent stands: "asks obstat; proved 2026-11-18 04:12".
func agentWords(a *agentJSON) string {
	at := a.DoctorAt.Local().Format("2006-01-02 15:04")
	switch {
	case !a.Asks:
		return "does not ask obstat"
	case a.Doctor == string(doctor.Holds):
		return "asks obstat; proved " + at
	case a.Doctor == string(doctor.Broken):
		return "broken, as of " + at
	}
	return "asks obstat; not proved yet (obstat doctor)"
}

// confinement says which level the kernel gives, and whether a policy uses it.
func confinement(r confine.Report, inUse bool) string {
	use := "no policy here uses it (the word confine: in obstat.yaml)"
	if inUse {
		use = "in use"
	}
	return fmt.Sprintf("%s; %s", r, use)
}
