package mcp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/policy"
)

// An Offered is a tool that a server offers, or did when its tools were accepted.
type Offered struct {
	Name string
	// Reach bounds the verdicts of its calls.
	Reach obstat.Reach
	// State compares it with the accepted one: "" is the same, "new", "changed",
	// "gone".
	State string
	// Hidden says why agents are not shown it, "" where they are.
	Hidden string
	// Was and Now are the definitions, where they differ.
	Was, Now []byte
}

// Wire returns the tool as the API and `obstat mcp tools --json` have it.
func (o *Offered) Wire() client.MCPTool {
	out := client.MCPTool{Name: o.Name, State: o.State, Hidden: o.Hidden}
	if o.State != "gone" {
		out.Strictest, out.Loosest = o.Reach.Strictest.String(), o.Reach.Loosest.String()
	}
	if o.State == "changed" || o.State == "new" {
		out.Difference = Differences(o.Was, o.Now)
	}
	return out
}

// Inspect starts a server, or calls it, and returns its tools beside the accepted ones.
// The definitions are for [Guard.Accept].
func (g *Guard) Inspect(ctx context.Context, p *Process, r *Remote) ([]Offered, []Definition, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	defs, err := g.definitions(ctx, p, r)
	if err != nil {
		return nil, nil, err
	}
	var kept []policy.PinTool
	if g.Pins != nil {
		if kept, err = g.Pins.Accepted(ctx); err != nil {
			return nil, nil, err
		}
	}
	var out []Offered
	for i := range defs {
		d := &defs[i]
		o := Offered{Name: d.Name, Now: d.Text, Reach: g.Gate.Reach(ctx,
			&obstat.Call{Tool: Tool(g.Name, d.Name), Dir: g.Dir, Agent: g.Agent})}
		o.Hidden = badName(d.Name, maxName)
		switch at := slices.IndexFunc(kept, func(t policy.PinTool) bool { return t.Name == d.Name }); {
		case kept == nil: // it is seen for the first time
		case at < 0:
			o.State = "new"
		case kept[at].Digest != d.Digest():
			o.State, o.Was = "changed", kept[at].Text
		}
		switch {
		case o.Hidden != "":
		case o.Reach.Loosest == obstat.Deny:
			o.Hidden = "the policy denies every call of it"
		case o.State != "":
			o.Hidden = "nobody has accepted it as it is"
		}
		out = append(out, o)
	}
	for _, t := range kept {
		if !slices.ContainsFunc(defs, func(d Definition) bool { return d.Name == t.Name }) {
			out = append(out, Offered{Name: t.Name, State: "gone", Was: t.Text})
		}
	}
	return out, defs, nil
}

// Accept accepts a server's tools as they are.
func (g *Guard) Accept(ctx context.Context, defs []Definition, by string) error {
	return g.Pins.Keep(ctx, defs, by)
}

// definitions asks a server for its tools, as a client of either era would.
func (g *Guard) definitions(ctx context.Context, p *Process, r *Remote) ([]Definition, error) {
	asks := &Guard{Name: g.Name, Gate: g.Gate, Log: g.Log, bare: true}
	got := make(chan *frame, 16)
	s := asks.session(func(_ string, msg []byte) error {
		if f, err := (&reader{}).read(msg); err == nil && f.kind == response {
			got <- f
		}
		return nil
	}, nil)
	server, err := s.connect(ctx, p, r, Caller{})
	if err != nil {
		return nil, err
	}
	defer server.end()
	say := func(msg string) (*tree.Node, error) {
		if err := s.fromClient(ctx, []byte(msg)); err != nil {
			return nil, err
		}
		select {
		case f := <-got:
			if f.result.none() {
				return nil, fmt.Errorf("the server answers %s", visible(string(f.failure.in(f.raw))))
			}
			root, _ := jsonx.Parse(f.result.in(f.raw), jsonx.Options{NUL: true})
			return root, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("the server does not answer: %w", ctx.Err())
		}
	}
	meta := ""
	if _, err := say(`{"jsonrpc":"2.0","id":"obstat-1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"obstat","version":"1"}}}`); err == nil {
		_ = s.fromClient(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	} else { // it may speak the stateless revision alone
		meta = `"_meta":{"` + metaVersion + `":"` + firstModern + `","` + metaCapabilities + `":{}}`
	}
	return pages(meta, say)
}

// pages asks for all pages of the list.
func pages(meta string, say func(string) (*tree.Node, error)) (out []Definition, err error) {
	cursor := ""
	for n := range maxPages {
		params := meta
		if cursor != "" {
			params = strings.TrimPrefix(meta+`,"cursor":`+jsonx.Quote(cursor), ",")
		}
		root, err := say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"obstat-l%d","method":"tools/list","params":{%s}}`, n, params))
		if err != nil {
			return nil, err
		}
		l := listOf(root)
		if out = append(out, l.defs...); l.next == "" || len(out) > maxTools {
			break
		}
		cursor = l.next
	}
	return out, nil
}

// Differences returns the lines in which two definitions differ:
// `- "description": ...` and `+ "description": ...`.
func Differences(was, now []byte) (out []string) {
	a, _ := jsonx.Parse(was, jsonx.Options{NUL: true})
	b, _ := jsonx.Parse(now, jsonx.Options{NUL: true})
	for _, key := range pinned {
		x, y := text(a.Get(key), was), text(b.Get(key), now)
		if bytes.Equal(x, y) {
			continue
		}
		for _, side := range []struct {
			sign string
			text []byte
		}{{"-", x}, {"+", y}} {
			if side.text != nil {
				out = append(out, fmt.Sprintf("%s %s: %s", side.sign, key, side.text))
			}
		}
	}
	return out
}

func text(n *tree.Node, src []byte) []byte {
	if n == nil {
		return nil
	}
	return n.Source(src)
}
