package pattern

// exact is the flavour without syntax: the text itself, byte for byte.
type exact string

func compileExact(text string) (matcher, trees, error) {
	return exact(text), trees{known: &Shape{Prefix: text, Exact: true}}, nil
}

func (e exact) match(s string) (bool, error) { return string(e) == s, nil }
