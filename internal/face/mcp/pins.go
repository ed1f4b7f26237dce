package mcp

import (
	"context"

	"github.com/obstat/obstat/policy"
)

// toolPins keep the accepted tools of a server in the ledger.
type toolPins struct {
	place  string
	getenv func(string) string
}

func (p *toolPins) finder() *policy.Tools { return &policy.Tools{Place: p.place, Getenv: p.getenv} }

// Accepted returns the tools that were accepted.
func (p *toolPins) Accepted(context.Context) ([]policy.PinTool, error) { return p.finder().Accepted() }

// Keep accepts definitions.
func (p *toolPins) Keep(ctx context.Context, defs []Definition, by string) error {
	return p.finder().Accept(ctx, PinTools(defs), by)
}

// PinTools returns definitions as they are kept.
func PinTools(defs []Definition) []policy.PinTool {
	tools := make([]policy.PinTool, len(defs))
	for i := range defs {
		tools[i] = policy.PinTool{Name: defs[i].Name, Digest: defs[i].Digest(), Text: defs[i].Text}
	}
	return tools
}
