package mcp

import (
	"context"

	"github.com/obstat/obstat/policy"
)

// toolPins keep what was accepted of a server's tools in the ledger.
type toolPins struct {
	place  string
	getenv func(string) string
}

func (p *toolPins) finder() *policy.Tools { return &policy.Tools{Place: p.place, Getenv: p.getenv} }

// Accepted returns the digests that were accepted.
func (p *toolPins) Accepted(context.Context) (map[string]string, error) {
	kept, err := p.finder().Accepted()
	if kept == nil || err != nil {
		return nil, err
	}
	out := make(map[string]string, len(kept))
	for _, t := range kept {
		out[t.Name] = t.Digest
	}
	return out, nil
}

// Keep accepts definitions.
func (p *toolPins) Keep(ctx context.Context, defs []Definition, by string) error {
	tools := make([]policy.PinTool, len(defs))
	for i := range defs {
		tools[i] = policy.PinTool{Name: defs[i].Name, Digest: defs[i].Digest(), Text: defs[i].Text}
	}
	return p.finder().Accept(ctx, tools, by)
}
