package cases

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// Parse reads one case from its line. The problems are obstat.Errors, all of
// them, with the column that each stands at.
func Parse(file string, line int, src []byte) (*Case, error) {
	p := &parser{src: src, file: file, line: line}
	n, problems := jsonx.Parse(src, jsonx.Options{NUL: true})
	p.note(problems)
	if tree.Fatal(problems) {
		return nil, p.errs.Fatal()
	}
	c := &Case{}
	p.parse(c, n)
	if err := p.errs.Fatal(); err != nil {
		return nil, err
	}
	return c, nil
}

// parser turns the tree of a line into a case.
type parser struct {
	src  []byte
	file string
	line int
	errs obstat.Errors
}

func (p *parser) note(problems []tree.Problem) {
	f := dialect.File{Name: p.file, Data: p.src}
	for _, e := range f.Problems(problems) {
		p.add(e)
	}
}

// add takes a problem of the line, which is line p.line of its file.
func (p *parser) add(e *obstat.Error) {
	e.Pos.Line = p.line
	for i := range e.Also {
		e.Also[i].Line = p.line
	}
	p.errs = append(p.errs, e)
}

func (p *parser) fail(n *tree.Node, format string, args ...any) {
	f := dialect.File{Name: p.file, Data: p.src}
	p.add(f.Problem(n.Start, obstat.CodeBadValue, format, args...))
}

func str(name string) tree.Field { return tree.Field{Name: name, Kinds: []tree.Kind{tree.String}} }
func obj(name string) tree.Field { return tree.Field{Name: name, Kinds: []tree.Kind{tree.Object}} }
func list(name string) tree.Field {
	return tree.Field{Name: name, Kinds: []tree.Kind{tree.Array, tree.Null}}
}
func boolean(name string) tree.Field { return tree.Field{Name: name, Kinds: []tree.Kind{tree.Bool}} }
func text(name string) tree.Field {
	return tree.Field{Name: name, Kinds: []tree.Kind{tree.String, tree.Null}}
}
func need(f tree.Field) tree.Field { f.Required = true; return f }

func (p *parser) check(n *tree.Node, fields ...tree.Field) { p.note(n.Check(fields...)) }

func (p *parser) parse(c *Case, n *tree.Node) {
	p.check(n, need(str("id")), need(str("dialect")), obj("options"), tree.Field{Name: "policy"}, list("layers"), obj("files"), obj("tools"),
		need(obj("call")), obj("world"), str("floor"), obj("want"), str("never"), str("group"), str("note"))
	if p.errs.Fatal() != nil {
		return
	}
	c.ID, c.Dialect, c.Group, c.Note = n.Get("id").Str, n.Get("dialect").Str, of(n.Get("group")), of(n.Get("note"))
	p.config(c, n)
	p.tools(c, n.Get("tools"))
	p.call(c, n.Get("call"))
	p.world(c, n.Get("world"))
	p.want(c, n)
}

// of returns a string node's text, "" for anything else.
func of(n *tree.Node) string {
	if n.Is(tree.String) {
		return n.Str
	}
	return ""
}

func (p *parser) config(c *Case, n *tree.Node) {
	given := 0
	add := func(name, layer string, v *tree.Node) {
		c.Config.Files = append(c.Config.Files, dialect.File{Name: name, Layer: layer, Data: p.fileText(v)})
	}
	if v := n.Get("policy"); v != nil {
		given, c.Config.unnamed = given+1, true
		add("", "", v)
	}
	if v := n.Get("layers"); v.Is(tree.Array) {
		given, c.Config.unnamed = given+1, true
		for i, e := range v.Elems {
			add(fmt.Sprintf("layer%d/", i), fmt.Sprint(i), e)
		}
	}
	if v := n.Get("files"); v != nil {
		given++
		for _, m := range v.Members {
			add(m.Key, "", m.Value)
		}
	}
	if given != 1 {
		p.fail(n, "a case has one of policy, layers and files; this one has %d of them", given)
	}
	c.Config.Options = p.options(n.Get("options"))
	if f := n.Get("floor"); f != nil {
		c.Config.Options[dialect.FloorOption] = f.Str
	}
}

// fileText is what the file would hold: a string is its text, any other value
// the value as it was written, its keys in order.
func (p *parser) fileText(v *tree.Node) []byte {
	if v.Is(tree.String) {
		return []byte(v.Str)
	}
	return append([]byte{}, v.Source(p.src)...)
}

func (p *parser) options(n *tree.Node) map[string]string {
	out := map[string]string{}
	if n == nil {
		return out
	}
	for _, m := range n.Members {
		switch v := m.Value; v.Kind {
		case tree.Array:
			elems, problems := v.Strings(m.Key)
			p.note(problems)
			words := make([]string, len(elems))
			for i, e := range elems {
				words[i] = e.Str
			}
			out[m.Key] = strings.Join(words, ",")
		case tree.String:
			out[m.Key] = v.Str
		default:
			out[m.Key] = string(v.Source(p.src))
		}
	}
	return out
}

func (p *parser) tools(c *Case, n *tree.Node) {
	if n == nil {
		return
	}
	c.Config.Tools = map[string]dialect.Tool{}
	for _, m := range n.Members {
		p.check(m.Value, str("kind"), boolean("read_only"), boolean("trusted"), obj("check"))
		t := dialect.Tool{Kind: of(m.Value.Get("kind")), ReadOnly: isTrue(m.Value.Get("read_only")), Trusted: isTrue(m.Value.Get("trusted"))}
		if ck := m.Value.Get("check"); ck != nil {
			t.Check = p.answer(ck)
		}
		c.Config.Tools[m.Key] = t
	}
}

func isTrue(n *tree.Node) bool { return n.Is(tree.Bool) && n.Bool }

func (p *parser) answer(n *tree.Node) *dialect.Answer {
	p.check(n, need(str("verdict")), boolean("safety"))
	a := &dialect.Answer{Safety: isTrue(n.Get("safety"))}
	if v := n.Get("verdict"); of(v) == "pass" {
		a.Pass = true
	} else if v != nil {
		a.Verdict = p.verdict(v)
	}
	return a
}

func (p *parser) verdict(n *tree.Node) obstat.Verdict {
	v, err := obstat.ParseVerdict(of(n))
	if err != nil {
		p.fail(n, "%v", err)
	}
	return v
}

// texts returns the strings of a list; null elements are left out: a root that
// is not known is no root.
func (p *parser) texts(n *tree.Node) (out []string) {
	if !n.Is(tree.Array) {
		return nil
	}
	for _, e := range n.Elems {
		switch e.Kind {
		case tree.String:
			out = append(out, e.Str)
		case tree.Null:
		default:
			p.fail(e, "should be a string, not %s", e.Kind)
		}
	}
	return out
}

func (p *parser) call(c *Case, n *tree.Node) {
	p.check(n, need(str("tool")), tree.Field{Name: "input"}, list("subjects"), text("agent"), text("session"), text("user"), list("roles"),
		text("channel"), text("dir"), list("roots"), text("mode"), tree.Field{Name: "repeat", Kinds: []tree.Kind{tree.Number}})
	c.Call = obstat.Call{Tool: of(n.Get("tool")), Subjects: p.texts(n.Get("subjects")), Agent: of(n.Get("agent")), Session: of(n.Get("session")),
		User: of(n.Get("user")), Roles: p.texts(n.Get("roles")), Channel: of(n.Get("channel")), Dir: of(n.Get("dir")),
		Roots: p.texts(n.Get("roots")), Mode: obstat.Mode(of(n.Get("mode")))}
	if in := n.Get("input"); in != nil {
		c.Call.Input = append([]byte{}, in.Source(p.src)...)
	}
	if r := n.Get("repeat"); r != nil {
		if _, err := fmt.Sscanf(r.Num, "%d", &c.Call.Repeat); err != nil {
			p.fail(r, "repeat should be a whole number")
		}
	}
}

func (p *parser) world(c *Case, n *tree.Node) {
	if n == nil {
		return
	}
	p.check(n, text("home"), obj("homes"), obj("links"), list("dirs"))
	c.World = obstat.Snapshot{HomeDir: of(n.Get("home")), Homes: p.textMap(n.Get("homes")), Links: p.textMap(n.Get("links")), Dirs: p.texts(n.Get("dirs"))}
}

func (p *parser) textMap(n *tree.Node) map[string]string {
	if !n.Is(tree.Object) {
		return nil
	}
	out := make(map[string]string, len(n.Members))
	for _, m := range n.Members {
		if !m.Value.Is(tree.String) {
			p.fail(m.Value, "should be a string, not %s", m.Value.Kind)
		}
		out[m.Key] = of(m.Value)
	}
	return out
}
