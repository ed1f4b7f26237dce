package person

import (
	"os"
	"slices"
)

// An Above is the agent's process that this one runs below; zero where there is none, or that cannot be told. Its start
// tells it from another process that gets the same number later.
type Above struct {
	PID     int    `json:"pid,omitempty"`
	Started uint64 `json:"started,omitempty"`
}

// AgentAbove returns the nearest agent's process above this one.
func AgentAbove() (out Above) {
	m := system()
	chain, _ := m.chain(os.Getpid())
	if at := slices.IndexFunc(chain, known().agent); at > 0 {
		out = Above{chain[at].pid, chain[at].started}
	}
	return out
}

// Has tells whether this process runs below the agent's; true where no agent was found before.
func (a Above) Has() bool {
	m := system()
	chain, _ := m.chain(os.Getpid())
	return a.in(chain)
}

func (a Above) in(chain []*proc) bool {
	return a.PID == 0 || slices.ContainsFunc(chain, func(p *proc) bool { return p.pid == a.PID && p.started == a.Started })
}
