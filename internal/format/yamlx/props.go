package yamlx

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat/internal/format/tree"
)

// props are the anchor and the tag in front of a node.
type props struct {
	anchor, tag string
	at          int // where the tag stands
	size, high  int // the parser's counts when the anchor began
}

func (p *parser) props() props {
	pr := props{size: p.size, high: p.high}
	for !p.lost {
		switch {
		case p.peek(0) == '&' && pr.anchor == "":
			p.pos++
			if pr.anchor = p.name(); pr.anchor != "" {
				if p.anchors[pr.anchor] != nil {
					p.note(p.pos-len(pr.anchor)-1, tree.CodeAlias, fmt.Sprintf("the anchor &%.60s stands twice", pr.anchor), "give one of the two another name")
				}
				p.anchors[pr.anchor] = &anchor{} // an alias inside its own anchor must not find an older one
				p.high = 0
			}
		case p.peek(0) == '!' && pr.tag == "":
			pr.at = p.pos
			for !isBlank(p.peek(0)) && !(p.flow > 0 && isFlow(p.peek(0))) {
				p.pos++
			}
			pr.tag = string(p.src[pr.at:p.pos])
		default:
			return pr
		}
		if c := p.peek(0); !isBlank(c) && !(p.flow > 0 && isFlow(c)) {
			p.syntax(p.pos, "an anchor or a tag must be followed by a space")
		}
		p.spaces()
	}
	return pr
}

func (pr props) some() bool { return pr.anchor != "" || pr.tag != "" }

// name reads the name of an anchor or an alias.
func (p *parser) name() string {
	start := p.pos
	for c := p.peek(0); c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'; c = p.peek(0) {
		p.pos++
	}
	if p.pos == start {
		p.syntax(start, "an anchor needs a name of letters, digits, - and _")
	}
	return string(p.src[start:p.pos])
}

// finish gives n, read at depth, its anchor and checks a collection's tag.
func (p *parser) finish(n *tree.Node, pr props, depth int) *tree.Node {
	if n == nil {
		return nil
	}
	if t := longTag(pr.tag); t != "" && (n.Kind == tree.Object && t != "map" || n.Kind == tree.Array && t != "seq") {
		p.badTag(pr)
	}
	if pr.anchor != "" {
		n.Anchor = pr.anchor
		p.anchors[pr.anchor] = &anchor{node: n, size: p.size - pr.size + 1, height: max(0, p.high-depth)}
		p.high = max(p.high, pr.high)
	}
	return n
}

func (p *parser) badTag(pr props) {
	p.note(pr.at, tree.CodeTag, fmt.Sprintf("the tag %.60q cannot be used here", pr.tag), "remove the tag")
}

// longTag returns the standard name behind a tag ("str", "int", ...), "?" for
// any other, "" for none.
func longTag(tag string) string {
	switch {
	case tag == "":
		return ""
	case strings.HasPrefix(tag, "!<tag:yaml.org,2002:") && strings.HasSuffix(tag, ">"):
		tag = strings.TrimSuffix(strings.TrimPrefix(tag, "!<tag:yaml.org,2002:"), ">")
	case strings.HasPrefix(tag, "!!"):
		tag = tag[2:]
	default:
		return "?"
	}
	switch tag {
	case "str", "int", "float", "bool", "null", "map", "seq":
		return tag
	}
	return "?"
}

// alias reads *name and returns a node that shares the anchor's content.
func (p *parser) alias(depth int) *tree.Node {
	start := p.pos
	p.pos++
	name := p.name()
	n := &tree.Node{Kind: tree.Null, Start: start, End: p.pos}
	a := p.anchors[name]
	if p.lost {
		return n
	}
	if a == nil || a.node == nil {
		p.note(start, tree.CodeAlias, fmt.Sprintf("the alias *%.60s stands before its anchor is complete, or there is none", name), "")
		return n
	}
	p.size += a.size
	p.high = max(p.high, depth+a.height)
	if depth+a.height > MaxDepth {
		p.fail(start, tree.CodeDepth, fmt.Sprintf("aliases nest more than %d levels deep", MaxDepth))
	}
	if p.size > MaxNodes {
		p.fail(start, tree.CodeSize, fmt.Sprintf("aliases make more than %d values of the document", MaxNodes))
	}
	*n = *a.node
	n.Start, n.End, n.Alias, n.Anchor = start, p.pos, a.node, ""
	return n
}

// merge resolves the merge key of an object that was just read. As PyYAML has
// it, inherited keys come first, and a key written out keeps an inherited place.
func (p *parser) merge(n *tree.Node) {
	at := -1
	for i, m := range n.Members {
		if m.Key == "<<" && m.KeyNode.Style == tree.Plain {
			at = i
			break
		}
	}
	if at < 0 {
		return
	}
	key, from := n.Members[at].KeyNode, n.Members[at].Value
	own := append(append([]tree.Member{}, n.Members[:at]...), n.Members[at+1:]...)
	sources := []*tree.Node{from}
	if from.Kind == tree.Array {
		sources = from.Elems
	}
	n.Members = nil
	place := map[string]int{}
	for _, s := range sources {
		if s.Kind != tree.Object {
			p.note(key.Start, tree.CodeAlias, "<< can only merge mappings", "")
			continue
		}
		for _, m := range s.Members {
			if _, ok := place[m.Key]; !ok {
				place[m.Key] = len(n.Members)
				m.Inherited = true
				n.Members = append(n.Members, m)
			}
		}
	}
	for _, m := range own {
		if i, ok := place[m.Key]; ok {
			n.Members[i] = m
		} else {
			n.Members = append(n.Members, m)
		}
	}
	// Merging copies members, so it can grow a document as aliases can.
	if p.size += len(n.Members); p.size > MaxNodes {
		p.fail(key.Start, tree.CodeSize, fmt.Sprintf("merge keys make more than %d values of the document", MaxNodes))
	}
}
