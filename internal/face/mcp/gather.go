package mcp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// merges are the requests that every server of a bundle answers.
var merges = map[string]bool{"initialize": true, "server/discover": true, "tools/list": true, "prompts/list": true,
	"resources/list": true, "resources/templates/list": true, "logging/setLevel": true, "subscriptions/listen": true}

// lists are the members of results that are put together, by method, and the key of an
// element that names it.
var lists = map[string]struct{ list, key string }{
	"tools/list": {"tools", "name"}, "prompts/list": {"prompts", "name"},
	"resources/list": {"resources", "uri"}, "resources/templates/list": {"resourceTemplates", "uriTemplate"},
}

// A gather waits for the answers of all servers to one request.
type gather struct {
	c   *crowd
	ctx context.Context
	f   *frame

	mu    sync.Mutex
	waits int
	from  map[*member]*answers
}

// answers are those of one server: the pages of a list, or one result.
type answers struct {
	pages  []*tree.Node
	raw    [][]byte // that the pages are parts of
	failed []byte   // the message, where it is an error
}

// gather puts a request of the client's to all servers.
func (c *crowd) gather(ctx context.Context, f *frame) error {
	if f.cursor {
		return c.fail(f.id, codeParams, "the list has one page, and no cursor was given out")
	}
	g := &gather{c: c, ctx: ctx, f: f, waits: len(c.members), from: map[*member]*answers{}}
	if !c.begin(f.id, nil, g) {
		return c.fail(f.id, codeRequest, "a request with this id is under way")
	}
	for _, m := range c.members {
		_ = m.s.fromClient(ctx, bytes.Clone(f.raw)) // an error is answered
	}
	return nil
}

// take takes a server's answer; the last one answers the client.
func (g *gather) take(m *member, f *frame) error {
	g.mu.Lock()
	a := g.from[m]
	if a == nil {
		a = &answers{}
		g.from[m] = a
	}
	if f.result.none() {
		a.failed = f.raw
	} else {
		page, _ := jsonx.Parse(f.result.in(f.raw), jsonx.Options{NUL: true})
		a.pages, a.raw = append(a.pages, page), append(a.raw, f.result.in(f.raw))
		if next := page.Get("nextCursor"); lists[g.f.method].list != "" && next.Is(tree.String) && len(a.pages) < maxPages {
			g.mu.Unlock()
			return m.s.fromClient(g.ctx, g.further(next.Str))
		}
	}
	g.waits--
	done := g.waits == 0
	g.mu.Unlock()
	if !done {
		return nil
	}
	g.c.mu.Lock()
	delete(g.c.gathers, g.f.id)
	g.c.mu.Unlock()
	return g.c.out.write(g.answer())
}

// further returns the request for the next page of a list.
func (g *gather) further(cursor string) []byte {
	member := `"cursor":` + jsonx.Quote(cursor)
	if g.f.params.none() {
		return put(g.f.raw, span{len(g.f.raw) - 1, len(g.f.raw) - 1}, `,"params":{`+member+`}`)
	}
	at := g.f.params.start + 1
	if len(bytes.TrimSpace(g.f.raw[at:g.f.params.end-1])) > 0 {
		member += ","
	}
	return put(g.f.raw, span{at, at}, member)
}

// answer puts the servers' answers together. A server that has failed is left out, and
// told of; where all have, the client gets the first one's words.
func (g *gather) answer() []byte {
	var good []*member
	var failed []byte
	for _, m := range g.c.members {
		a := g.from[m]
		switch {
		case a == nil || a.failed != nil:
			if a != nil && failed == nil {
				failed = a.failed
			}
			if g.f.method == "initialize" || a == nil {
				m.s.log("it is left out: it has not answered " + g.f.method)
			}
		default:
			good = append(good, m)
		}
	}
	_, list := lists[g.f.method]
	switch {
	case g.f.method == "server/discover" && failed != nil:
		return failed // one of them is of before; the client begins as those want it
	case len(good) == 0 && (failed == nil || list):
		return reply(g.f.id, obj(lists[g.f.method].list, []any{}))
	case len(good) == 0:
		return failed
	case list:
		return g.joined(good)
	case g.f.method == "initialize" || g.f.method == "server/discover":
		return reply(g.f.id, g.introduction(good))
	}
	return reply(g.f.id, g.from[good[0]].pages[0])
}

// joined returns the list of all servers: the first one's result, with the elements of
// all. Of each element only the name is another; all other bytes are its server's.
func (g *gather) joined(good []*member) []byte {
	what := lists[g.f.method]
	var out bytes.Buffer
	for _, m := range good {
		a := g.from[m]
		for i, page := range a.pages {
			list := page.Get(what.list)
			if !list.Is(tree.Array) {
				continue
			}
			for _, e := range list.Elems {
				name := e.Get(what.key)
				if !name.Is(tree.String) {
					continue
				}
				if out.Len() > 0 {
					out.WriteByte(',')
				}
				text := a.raw[i][e.Start:e.End]
				if what.key == "name" {
					text = put(text, span{name.Start - e.Start, name.End - e.Start}, jsonx.Quote(m.name+between+name.Str))
				} else {
					g.c.mu.Lock()
					if g.c.uris[name.Str] == nil {
						g.c.uris[name.Str] = m
					}
					g.c.mu.Unlock()
				}
				out.Write(text)
			}
		}
	}
	return g.around(good[0], "["+out.String()+"]")
}

// around returns a server's first page with another list in it, and no cursor.
func (g *gather) around(m *member, list string) []byte {
	a, what := g.from[m], lists[g.f.method].list
	page := a.pages[0]
	array := page.Get(what)
	if array == nil {
		return reply(g.f.id, obj(what, []any{}))
	}
	f := &frame{raw: bytes.Clone(a.raw[0])}
	for _, field := range slices.Backward(page.Members) { // from the end: places before stay
		switch field.Key {
		case what:
			f.raw = put(f.raw, span{array.Start, array.End}, list)
		case "nextCursor":
			f.raw = put(f.raw, f.member(span{field.KeyNode.Start, field.Value.End}), "")
		}
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, g.f.id, f.raw)
}

// introduction joins the abilities of the servers.
func (g *gather) introduction(good []*member) jsonx.Object {
	versions := []string{}
	var words []string
	abilities := map[string]map[string]bool{}
	for _, m := range good {
		page := g.from[m].pages[0]
		if v := page.Get("protocolVersion"); v.Is(tree.String) {
			versions = append(versions, v.Str)
		}
		if w := page.Get("instructions"); w.Is(tree.String) && w.Str != "" {
			words = append(words, m.name+": "+w.Str)
		}
		if caps := page.Get("capabilities"); caps.Is(tree.Object) {
			for _, a := range caps.Members {
				if abilities[a.Key] == nil {
					abilities[a.Key] = map[string]bool{}
				}
				for _, more := range a.Value.Members {
					abilities[a.Key][more.Key] = abilities[a.Key][more.Key] || more.Value.Is(tree.Bool) && more.Value.Bool
				}
			}
		}
	}
	caps := obj()
	for _, name := range []string{"tools", "prompts", "resources", "logging", "completions"} {
		if has := abilities[name]; has != nil {
			o := obj()
			for _, more := range []string{"listChanged", "subscribe"} {
				if has[more] {
					o = append(o, obj(more, true)...)
				}
			}
			caps = append(caps, obj(name, o)...)
		}
	}
	out := obj("capabilities", caps, "serverInfo", obj("name", "obstat", "version", g.c.Version))
	if len(words) > 0 {
		out = append(out, obj("instructions", strings.Join(words, "\n"))...)
	}
	if g.f.method == "initialize" {
		return append(out, obj("protocolVersion", slices.Min(append(versions, g.f.meta.version)))...)
	}
	first := g.from[good[0]].pages[0]
	for _, key := range []string{"resultType", "ttlMs"} {
		if v := first.Get(key); v != nil {
			out = append(out, obj(key, v)...)
		}
	}
	return append(out, obj("supportedVersions", g.common(good), "cacheScope", "private")...)
}

// common returns the versions that all servers speak.
func (g *gather) common(good []*member) []any {
	count, order := map[string]int{}, []string{}
	for _, m := range good {
		if list := g.from[m].pages[0].Get("supportedVersions"); list.Is(tree.Array) {
			for _, v := range list.Elems {
				if count[v.Str]++; count[v.Str] == 1 {
					order = append(order, v.Str)
				}
			}
		}
	}
	out := []any{}
	for _, v := range order {
		if count[v] == len(good) {
			out = append(out, v)
		}
	}
	return out
}
