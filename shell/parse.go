package shell

// Parse reads src and reports the commands that it would run. It never returns nil and never
// panics: text that cannot be parsed or followed is a Gap.
//
// Commands are listed in the order in which their text is met: a command comes before
// the commands of its own substitutions, the commands of a function where the
// function is called, trap handlers last.
func Parse(src string, opts *Options) (s *Script) {
	o := opts.withDefaults()
	defer func() {
		if recover() != nil {
			s = failed(src, o.Lang)
		}
	}()
	r := &room{Script: Script{Source: src, Lang: o.Lang}}
	s = &r.Script
	s.Commands, s.Constructs = r.commands[:0], r.constructs[:0]
	marks, ok := s.readable(&o)
	if !ok {
		return s
	}
	w := borrowWalker(s, o)
	w.script(marks)
	w.release()
	return s
}

// room is a Script with the space that most need, in one piece of memory.
type room struct {
	Script
	commands   [1]Command
	constructs [2]Construct
}

// readable refuses text that is not parsed at all.
func (s *Script) readable(o *Options) (m marks, ok bool) {
	whole := Span{0, len(s.Source)}
	switch {
	case o.Lang != Bash:
		s.gap(ForeignShell, "text for "+o.Lang.String()+" is not parsed", whole)
		return m, false
	case len(s.Source) > maxBytes:
		s.gap(TooBig, "the text is longer than the limit", whole)
		return m, false
	}
	m = s.scan()
	switch {
	case tooDeep(s.Source):
		s.gap(TooDeep, "nested deeper than the limit", whole)
		return m, false
	case s.tooCostly(s.Source):
		s.gap(TooBig, "too many tokens", whole)
		return m, false
	}
	return m, true
}

// failed is the answer when the parser itself broke: nothing is known.
func failed(src string, lang Lang) *Script {
	s := &Script{Source: src, Lang: lang}
	s.gap(Syntax, "the parser failed on this text", Span{0, len(src)})
	return s
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.MaxWork <= 0 || out.MaxWork > defaultMaxWork {
		out.MaxWork = defaultMaxWork
	}
	if out.MaxCommands <= 0 || out.MaxCommands > defaultMaxCommands {
		out.MaxCommands = defaultMaxCommands
	}
	return out
}

func (s *Script) gap(kind GapKind, why string, at Span) {
	s.Gaps = append(s.Gaps, Gap{kind, why, at})
}
