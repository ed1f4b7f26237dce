package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	defaultMaxBytes = 1 << 20
)

// Parse reads src and reports what it would run. It never returns nil and never panics:
// what cannot be parsed is a Gap.
func Parse(src string, opts *Options) *Script {
	var o Options
	if opts != nil {
		o = *opts
	}
	s := &Script{Source: src, Lang: o.Lang}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if len(src) > o.MaxBytes {
		s.Gaps = append(s.Gaps, Gap{TooBig, "the text is too long", Span{0, len(src)}})
		return s
	}
	if strings.Count(src, "(")+strings.Count(src, "{")+strings.Count(src, "`") > 1000 {
		s.Gaps = append(s.Gaps, Gap{TooDeep, "nested too deep", Span{0, len(src)}})
		return s
	}
	f, err := syntax.NewParser().Parse(strings.NewReader(src), "")
	if err != nil {
		s.Gaps = append(s.Gaps, Gap{Syntax, err.Error(), Span{0, len(src)}})
		return s
	}
	basicWalk(s, f)
	return s
}

func basicWalk(s *Script, f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		st, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		c := Command{Stdin: -1, Dir: Word{Known: true}, Span: Span{int(st.Pos().Offset()), int(st.End().Offset())}}
		if call, ok := st.Cmd.(*syntax.CallExpr); ok {
			for _, w := range call.Args {
				c.Words = append(c.Words, basicWord(s, w))
			}
			for _, a := range call.Assigns {
				as := Assign{Name: a.Name.Value, Append: a.Append, Value: Word{Known: true}}
				if a.Value != nil {
					as.Value = basicWord(s, a.Value)
				}
				c.Assigns = append(c.Assigns, as)
			}
		}
		for _, r := range st.Redirs {
			rd := Redirect{Op: r.Op.String()}
			if r.N != nil {
				rd.Fd = r.N.Value
			}
			if r.Word != nil {
				rd.Target = basicWord(s, r.Word)
			}
			if r.Hdoc != nil {
				b := basicWord(s, r.Hdoc)
				rd.Body = &b
			}
			c.Redirects = append(c.Redirects, rd)
		}
		if len(c.Words)+len(c.Assigns)+len(c.Redirects) > 0 {
			s.Commands = append(s.Commands, c)
		}
		return true
	})
}

func basicWord(s *Script, w *syntax.Word) Word {
	out := Word{Known: true, Span: Span{int(w.Pos().Offset()), int(w.End().Offset())}}
	out.Raw = spanText(s.Source, out.Span)
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			out.Text += strings.ReplaceAll(p.Value, "\\", "")
			out.Glob = out.Glob || strings.ContainsAny(p.Value, "*?[")
			out.Tilde = out.Tilde || strings.HasPrefix(out.Text, "~")
		case *syntax.SglQuoted:
			out.Text += p.Value
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if l, ok := q.(*syntax.Lit); ok {
					out.Text += l.Value
				} else {
					out.Known, out.Why = false, "expansion"
					return out
				}
			}
		default:
			out.Known, out.Why, out.Split = false, "expansion", true
			return out
		}
	}
	return out
}
