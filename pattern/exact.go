package pattern

// exact is the flavour without syntax: the text itself, byte for byte.
type exact string

func compileExact(text string) (matcher, Shape) {
	return exact(text), Shape{Prefix: text, Exact: true}
}

func (e exact) match(s string) (bool, error) { return string(e) == s, nil }
