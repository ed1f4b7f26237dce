package jiuwen

// sourceAddDir marks the overrides that add-dir writes.
const sourceAddDir = "cli_add_dir"

// unescape undoes Python's re.escape; ok is false where the text is more than
// an escaped one.
func unescape(expr string) (text string, ok bool) {
	var b []byte
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		switch {
		case c == '\\' && i+1 < len(expr):
			i++
			b = append(b, expr[i])
		case mustEscape(c):
			return "", false
		default:
			b = append(b, c)
		}
	}
	return string(b), true
}

// mustEscape tells whether re.escape puts a backslash before a character.
func mustEscape(c byte) bool {
	switch c {
	case '(', ')', '[', ']', '{', '}', '?', '*', '+', '-', '|', '^', '$', '\\', '.', '&', '~', '#', ' ', '\t', '\n', '\r', '\v', '\f':
		return true
	}
	return false
}
