package shell

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// decoded returns the text that `base64 -d <<< LmVudg==` or `echo vne. | rev` prints: a file's name that is written so
// that it cannot be read is still that file's.
func decoded(s *syntax.Stmt) (string, bool) {
	if s == nil || s.Negated || s.Background {
		return "", false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		in, ok := decoded(c.X)
		if !ok || c.Op != syntax.Pipe || len(s.Redirs) > 0 {
			return "", false
		}
		call, ok := c.Y.Cmd.(*syntax.CallExpr)
		if !ok || len(c.Y.Redirs) > 0 {
			return "", false
		}
		return filtered(plainArgs(call), in)
	case *syntax.CallExpr:
		args := plainArgs(c)
		if len(s.Redirs) == 1 && s.Redirs[0].Op == syntax.WordHdoc {
			in, ok := textOf(s.Redirs[0].Word)
			if !ok && isPattern(s.Redirs[0].Word) {
				in, ok = s.Redirs[0].Word.Lit(), true
			}
			out, fine := filtered(args, in)
			return out, ok && fine
		}
		return spoken(args, len(s.Redirs))
	}
	return "", false
}

// decodedIn is decoded for a substitution.
func decodedIn(p *syntax.CmdSubst) (string, bool) {
	if len(p.Stmts) != 1 {
		return "", false
	}
	text, ok := decoded(p.Stmts[0])
	text = strings.TrimRight(text, "\n")
	return text, ok && text != "" && len(text) <= maxValue
}

// spoken returns the text that echo or printf prints.
func spoken(args []string, redirects int) (string, bool) {
	switch {
	case len(args) < 2 || redirects > 0:
	case args[0] == "echo":
		return echoed(args[1:])
	case args[0] == "printf":
		return formatted(args[1:])
	}
	return "", false
}

// filtered returns the output of a program that changes letters, for an input.
func filtered(args []string, in string) (string, bool) {
	if len(args) == 0 || len(in) > maxValue {
		return "", false
	}
	in = strings.TrimRight(in, "\n")
	decodes := slices.ContainsFunc(args[1:], func(a string) bool { return a == "-d" || a == "-D" || a == "--decode" })
	var out []byte
	var err error
	switch {
	case args[0] == "cat" && len(args) == 1:
		return in, true
	case args[0] == "rev" && len(args) == 1:
		out = []byte(in)
		slices.Reverse(out)
	case args[0] == "tr" && len(args) == 3 && args[1][:min(1, len(args[1]))] != "-":
		return translated(in, letters(args[1]), letters(args[2]))
	case args[0] == "base64" && decodes:
		out, err = base64.StdEncoding.DecodeString(in)
	case args[0] == "base32" && decodes:
		out, err = base32.StdEncoding.DecodeString(in)
	case args[0] == "xxd" && strings.Contains(strings.Join(args[1:], ""), "r"):
		out, err = hex.DecodeString(in)
	default:
		return "", false
	}
	return string(out), err == nil
}

// letters spells out the ranges of a set of tr: `a-c` is `abc`.
func letters(set string) string {
	var out []byte
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' && set[i] <= set[i+2] {
			for b := int(set[i]); b <= int(set[i+2]); b++ {
				out = append(out, byte(b))
			}
			i += 2
			continue
		}
		out = append(out, set[i])
	}
	return string(out)
}

func translated(in, from, to string) (string, bool) {
	if to == "" {
		return "", false
	}
	out := []byte(in)
	for i, b := range out {
		if at := strings.LastIndexByte(from, b); at >= 0 {
			out[i] = to[min(at, len(to)-1)]
		}
	}
	return string(out), true
}
