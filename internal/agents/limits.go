package agents

import (
	"embed"
	"encoding/json"
	"fmt"
)

// limitFiles has a table for each agent: what its hooks cover, and what not.
//
//go:embed limits/*.json
var limitFiles embed.FS

// Limits are what an agent's hooks cover and do not.
type Limits struct {
	Version string  `json:"version"` // of the agent that this is about
	Source  string  `json:"source"`  // observed, by running the agent, or documented
	List    []Limit `json:"limits"`
}

// A Limit is one thing that a hook's rules hold for, or do not.
type Limit struct {
	About string `json:"about"`
	Held  Held   `json:"held"`
	Says  string `json:"says"`
}

// Held tells whether rules hold: yes, partly or no.
type Held string

// What a Limit's Held may be.
const (
	Yes    Held = "yes"
	Partly Held = "partly"
	No     Held = "no"
)

// Limits returns what the agent's hooks cover and do not.
func (a *Agent) Limits() (*Limits, error) {
	data, err := limitFiles.ReadFile("limits/" + a.Name + ".json")
	if err != nil {
		return nil, err
	}
	l := &Limits{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("limits of %s: %w", a.Name, err)
	}
	return l, nil
}
