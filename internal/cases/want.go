package cases

import (
	"github.com/obstat/obstat/internal/tree"
)

func (p *parser) want(c *Case, n *tree.Node) {
	w, never := n.Get("want"), n.Get("never")
	if (w == nil) == (never == nil) {
		p.fail(n, "a case has either want or never")
		return
	}
	if never != nil {
		v := p.verdict(never)
		c.Never = &v
		return
	}
	p.check(w, str("verdict"), boolean("safety"), list("offers"), text("matched"), boolean("error"))
	c.Want.Error = isTrue(w.Get("error"))
	if v := w.Get("verdict"); v != nil {
		verdict := p.verdict(v)
		c.Want.Verdict = &verdict
	}
	if s := w.Get("safety"); s != nil {
		safety := isTrue(s)
		c.Want.Safety = &safety
	}
	if m := w.Get("matched"); m != nil {
		matched := of(m)
		c.Want.Matched = &matched
	}
	if o := w.Get("offers"); o.Is(tree.Array) {
		c.Want.Offers = p.offers(o)
	}
	if !c.Want.Error && c.Want.Verdict == nil {
		p.fail(w, "want names neither a verdict nor an error")
	}
}

func (p *parser) offers(n *tree.Node) *[]Offer {
	out := []Offer{}
	for _, e := range n.Elems {
		if e.Is(tree.String) {
			out = append(out, Offer{Text: e.Str})
			continue
		}
		p.check(e, need(str("tool")), text("content"))
		o := Offer{Tool: of(e.Get("tool"))}
		if ct := e.Get("content"); ct.Is(tree.String) {
			o.Content = &ct.Str
		}
		out = append(out, o)
	}
	return &out
}
