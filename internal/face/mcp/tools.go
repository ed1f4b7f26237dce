package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/policy"
)

// Limits of lists of tools.
const (
	maxTools = 10_000
	maxPages = 200
)

// A toolbox has the tools of a server as it lists them, and as they were accepted.
type toolbox struct {
	s *Guard

	mu    sync.Mutex
	whole bool             // all pages were seen, and nothing has changed since
	seen  map[string]known // by name
	pages map[string]Definition
	pins  map[string]string // accepted digests; nil: none were
	err   error             // why the pins cannot be read
	read  bool
}

// known is a tool as it was seen last: the digest of its definition, and its hint.
type known struct{ digest, hint string }

// A Definition is a tool as its server describes it: the part of an entry of tools/list that
// reaches the model or says how the tool is to be taken.
type Definition struct {
	Name string
	// Text is the canonical JSON of name, title, description, both schemas and
	// annotations.
	Text []byte
	hint string // see [obstat.Call]
}

// Digest returns the hash that a pin holds.
func (d *Definition) Digest() string {
	sum := sha256.Sum256(d.Text)
	return hex.EncodeToString(sum[:])
}

// Pins keep the accepted tools of a server.
type Pins interface {
	// Accepted returns the tools that were accepted; nil where the server was never seen.
	Accepted(ctx context.Context) ([]policy.PinTool, error)
	// Keep accepts definitions, in place of those of before.
	Keep(ctx context.Context, defs []Definition, by string) error
}

// FirstSight accepts the tools of a server that is seen for the first time.
const FirstSight = "first sight"

func (g *Guard) toolbox() *toolbox { return &toolbox{s: g, seen: map[string]known{}} }

// ready tells whether all tools are known as they are now.
func (t *toolbox) ready() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.whole
}

// stale notes that the server has said that its tools are others by now.
func (t *toolbox) stale() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole, t.pages = false, nil
}

// said returns the digest of a tool's definition, shortened, and its hint; "" where it was not
// seen.
func (t *toolbox) said(name string) (digest, hint string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.seen[name]
	return k.digest[:min(16, len(k.digest))], k.hint
}

// doubt says why a tool is not accepted as it is; "" where it is.
func (t *toolbox) doubt(name string) string {
	if t.s.Pins == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	accept := cmp.Or(t.s.Accepting, fmt.Sprintf("`obstat mcp tools %s` shows the difference and accepts it", t.s.Name))
	switch was, now := t.pins[name], t.seen[name].digest; {
	case t.err != nil:
		return "what was accepted of the server's tools cannot be read: " + t.err.Error()
	case now == "":
		return "the server does not list this tool"
	case t.pins == nil || was == now:
		return ""
	case was == "":
		return "the tool is new since the server's tools were accepted; " + accept
	default:
		return "the tool describes itself differently than when it was accepted; " + accept
	}
}

// fetch asks the server for its tools, on behalf of a call: the client may call a
// tool that it has seen in another session.
func (t *toolbox) fetch(ctx context.Context, s *session, call *frame) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cursor := ""
	for page := range maxPages {
		params := obj()
		if cursor != "" {
			params = append(params, obj("cursor", cursor)...)
		}
		if at := call.meta.at; !at.none() && call.meta.modern() {
			if meta, problems := jsonx.Parse(at.in(call.raw), jsonx.Options{NUL: true}); !tree.Fatal(problems) {
				params = append(params, obj("_meta", withoutToken(meta))...)
			}
		}
		id := jsonx.Quote("obstat-" + approval.NewID(""))
		ch := s.ask(s.own, id)
		err := s.toServer(message("id", idValue(id), "method", "tools/list", "params", params))
		if err != nil {
			return
		}
		select {
		case f := <-ch:
			if f == nil || f.result.none() {
				return
			}
			root, _ := jsonx.Parse(f.result.in(f.raw), jsonx.Options{NUL: true})
			list := listOf(root)
			t.learn(ctx, list, page > 0)
			if cursor = list.next; cursor == "" {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// withoutToken returns a _meta object without the token of another request.
func withoutToken(meta *tree.Node) *tree.Node {
	out := *meta
	out.Members = slices.DeleteFunc(slices.Clone(meta.Members),
		func(m tree.Member) bool { return m.Key == "progressToken" })
	return &out
}

// A toolList is a page of tools/list.
type toolList struct {
	array *tree.Node
	defs  []Definition // of the elements, nameless for one that is no tool
	next  string
}

// listOf reads the result of tools/list.
func listOf(result *tree.Node) (l toolList) {
	if l.array = result.Get("tools"); !l.array.Is(tree.Array) {
		return toolList{}
	}
	for _, e := range l.array.Elems {
		l.defs = append(l.defs, definition(e))
	}
	if next := result.Get("nextCursor"); next.Is(tree.String) {
		l.next = next.Str
	}
	return l
}

// pinned are the members of a tool that a pin is about: those that the model reads, and
// the hints.
var pinned = []string{"annotations", "description", "inputSchema", "name", "outputSchema", "title"}

func definition(e *tree.Node) Definition {
	name := e.Get("name")
	if !name.Is(tree.String) {
		return Definition{}
	}
	o := obj()
	for _, key := range pinned {
		if v := e.Get(key); v != nil {
			o = append(o, obj(key, v)...)
		}
	}
	text, err := jsonx.Marshal(o)
	if err == nil {
		text, err = jsonx.Canonical(text)
	}
	if err != nil {
		return Definition{}
	}
	return Definition{name.Str, text, hintOf(e.Get("annotations"))}
}

// hintOf returns the worst that annotations say of a tool. One without them may destroy
// something.
func hintOf(annotations *tree.Node) string {
	says := func(key string, otherwise bool) bool {
		if v := annotations.Get(key); v.Is(tree.Bool) {
			return v.Bool
		}
		return otherwise
	}
	switch {
	case says("readOnlyHint", false):
		return "read-only"
	case says("destructiveHint", true):
		return "destructive"
	}
	return "additive"
}

// learn takes a page of the server's tools. Those of a server that is seen for the first time
// are accepted.
func (t *toolbox) learn(ctx context.Context, l toolList, further bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readPins(ctx)
	if !further || t.pages == nil {
		t.pages = map[string]Definition{}
		if !further {
			t.seen = map[string]known{}
		}
	}
	for _, d := range l.defs {
		if d.Name != "" && len(t.pages) < maxTools {
			t.pages[d.Name], t.seen[d.Name] = d, known{d.Digest(), d.hint}
		}
	}
	if l.next != "" {
		return
	}
	t.whole = true
	if t.pins != nil || t.err != nil || t.s.Pins == nil {
		return
	}
	var defs []Definition
	for _, d := range t.pages {
		defs = append(defs, d)
	}
	slices.SortFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	if t.err = t.s.Pins.Keep(ctx, defs, FirstSight); t.err != nil {
		t.s.log("what the server's tools are could not be kept: " + t.err.Error())
		return
	}
	t.read = false
	t.readPins(ctx)
}

// readPins reads the accepted tools, for every list, since a person may accept some meanwhile;
// t.mu is held.
func (t *toolbox) readPins(ctx context.Context) {
	if t.s.Pins == nil {
		return
	}
	var kept []policy.PinTool
	if kept, t.err = t.s.Pins.Accepted(ctx); kept == nil || t.err != nil {
		t.pins = nil
		return
	}
	t.pins = make(map[string]string, len(kept))
	for _, k := range kept {
		t.pins[k.Name] = k.Digest
	}
}

// filter returns a page of tools without those that the policy always denies, that were not
// accepted, or whose names hide characters. Each of the others has its verdict in its _meta. All
// other bytes are the server's.
func (t *toolbox) filter(ctx context.Context, f *frame, further bool) ([]byte, error) {
	base := f.result.start
	result, problems := jsonx.Parse(f.result.in(f.raw), jsonx.Options{NUL: true})
	if tree.Fatal(problems) {
		return nil, fmt.Errorf("the server's list of tools is refused: %s", problems[0].Msg)
	}
	l := listOf(result)
	if l.array == nil {
		return f.raw, nil
	}
	if len(l.defs) > maxTools {
		return nil, fmt.Errorf("the server lists %d tools; more than %d are refused", len(l.defs), maxTools)
	}
	t.learn(ctx, l, further)
	var out bytes.Buffer
	out.Write(f.raw[:base+l.array.Start])
	out.WriteByte('[')
	shown, twice := 0, map[string]bool{}
	for i, e := range l.array.Elems {
		d := &l.defs[i]
		v, hidden := t.verdict(ctx, d)
		if hidden == "" && twice[d.Name] {
			hidden = "its name stands twice in the list"
		}
		if twice[d.Name] = true; hidden != "" {
			t.s.log(fmt.Sprintf("the tool %s is hidden: %s", d.Name, hidden))
			continue
		}
		if shown++; shown > 1 {
			out.WriteByte(',')
		}
		text := f.raw[base+e.Start : base+e.End]
		out.Write(annotated(text, e, v))
	}
	out.WriteByte(']')
	out.Write(f.raw[base+l.array.End:])
	return private(out.Bytes()), nil
}

// verdict returns the verdicts of a tool's calls, `ask to allow`, or why it is hidden.
func (t *toolbox) verdict(ctx context.Context, d *Definition) (v string, hidden string) {
	if why := badName(d.Name, maxName); why != "" {
		return "", why
	}
	r := t.s.Gate.Reach(ctx, &obstat.Call{Tool: Tool(t.s.Name, d.Name), Dir: t.s.Dir, Agent: t.s.Agent})
	if r.Loosest == obstat.Deny {
		return "", "the policy denies every call of it"
	}
	if why := t.doubt(d.Name); why != "" && t.pinsRead() {
		return "", why
	}
	if r.Strictest == r.Loosest {
		return r.Loosest.String(), ""
	}
	return r.Strictest.String() + " to " + r.Loosest.String(), ""
}

// pinsRead tells whether pins could be read: where not, tools are shown and their
// calls ask.
func (t *toolbox) pinsRead() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err == nil
}

// metaVerdict is the key of a tool's verdicts.
const metaVerdict = "obstat/verdict"

// annotated returns an entry of the list with the policy's verdict in its _meta.
func annotated(text []byte, e *tree.Node, verdict string) []byte {
	member := jsonx.Quote(metaVerdict) + ":" + jsonx.Quote(verdict)
	at, put := len(text)-1, `,"_meta":{`+member+`}`
	if len(e.Members) == 0 {
		put = put[1:]
	}
	if m := e.Get("_meta"); m.Is(tree.Object) {
		if m.Get(metaVerdict) != nil {
			return text // a server that speaks of itself: leave it, the key is only a hint
		}
		if at, put = m.Start-e.Start+1, member; len(m.Members) > 0 {
			put += ","
		}
	} else if m != nil {
		return text
	}
	return bytes.Join([][]byte{text[:at], []byte(put), text[at:]}, nil)
}

// private says of a list that was filtered that it is for one user: others may be shown
// other tools.
func private(raw []byte) []byte {
	f, err := (&reader{}).read(raw)
	if err != nil {
		return raw
	}
	result, _ := jsonx.Parse(f.result.in(raw), jsonx.Options{NUL: true})
	if scope := result.Get("cacheScope"); scope.Is(tree.String) && scope.Str != "private" {
		at := span{f.result.start + scope.Start, f.result.start + scope.End}
		return bytes.Join([][]byte{raw[:at.start], []byte(`"private"`), raw[at.end:]}, nil)
	}
	return raw
}
