package claudecode

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/pattern"
)

// slashed writes a Windows path the way rules do: C:\x is /c/x.
func slashed(p string) string {
	if paths.HasDrive(p) {
		return "/" + strings.ToLower(p[:1]) + "/" + strings.ReplaceAll(p[3:], `\`, "/")
	}
	return p
}

// path is a rule for files: a pattern of .gitignore, anchored by how it starts.
func (s spec) path(r *obstat.Rule) *trap {
	content := strings.TrimSpace(s.content)
	if paths.HasDrive(content) {
		content = "/" + slashed(content)
	}
	anchored := true
	for len(content) > 2 && strings.Contains(content[2:], "//") { // `//c//**`, as Claude Code writes it on Windows
		content = content[:2] + strings.ReplaceAll(content[2:], "//", "/")
	}
	switch {
	case strings.HasPrefix(content, "!"):
		return never("%s(%s): a pattern with ! takes something out of others, and alone never matches", s.tool, s.content)
	case strings.HasPrefix(content, "//"):
		r.Field, content = fieldAbs, strings.TrimLeft(content, "/")
	case content == "~" || strings.HasPrefix(content, "~/"):
		r.Field, content = fieldHome, strings.TrimLeft(content[1:], "/")
	case strings.HasPrefix(content, "/") && r.Layer == dialect.LayerUser:
		r.Field, content = fieldUser, content[1:]
	case strings.HasPrefix(content, "/"):
		r.Field, content = fieldRoot, content[1:]
	default:
		r.Field = fieldCwd
		anchored = s.anchored(&content, r.Verdict)
	}
	r.Pattern = obstat.Text{Flavour: pattern.Full, Text: "(?s)" + gitignore(content, anchored, r.Verdict != obstat.Allow)}
	return nil
}

// anchored tells whether a pattern from the project is meant to start there. A name alone is meant at any
// depth; so is dir/**, unless it allows.
func (s spec) anchored(content *string, v obstat.Verdict) bool {
	rest, dot := strings.CutPrefix(*content, "./")
	*content = rest
	single := strings.TrimSuffix(strings.TrimSuffix(rest, "/"), "/**")
	switch {
	case strings.Contains(single, "/"):
		return true
	case single != rest: // dir/ or dir/**
		return v == obstat.Allow
	}
	return dot && v == obstat.Allow
}

// gitignore translates a pattern over a path without a leading slash. A match
// includes all below it; with itself, dir/** is also dir.
func gitignore(p string, anchored, itself bool) string {
	var b strings.Builder
	b.Grow(len(p) + 16)
	if !anchored {
		b.WriteString("(?:.*/)?")
	}
	below := false
	if p, below = strings.CutSuffix(p, "/**"); !below {
		p, below = strings.CutSuffix(p, "/")
	}
	if p == "**" || p == "" && below {
		return ".*"
	}
	for i := 0; i < len(p); i++ {
		i += segment(&b, p, i) - 1
	}
	switch {
	case below && !itself:
		b.WriteString("/.+")
	default:
		b.WriteString("(?:/.*)?")
	}
	return b.String()
}

// segment translates the next part of the pattern, `**/` or a character, and returns its length.
func segment(b *strings.Builder, p string, i int) int {
	rest := p[i:]
	switch {
	case strings.HasPrefix(rest, "**/") && (i == 0 || p[i-1] == '/'):
		b.WriteString("(?:.*/)?")
		return 3
	case rest == "**" && i > 0 && p[i-1] == '/':
		b.WriteString(".+")
		return 2
	case rest[0] == '*':
		b.WriteString("[^/]*")
		return len(rest) - len(strings.TrimLeft(rest, "*"))
	case rest[0] == '?':
		b.WriteString("[^/]")
	case rest[0] == '[':
		return class(b, rest)
	case rest[0] == '\\' && len(rest) > 1:
		kit.WriteLiteral(b, rest[1:2])
		return 2
	default:
		kit.WriteLiteral(b, rest[:1])
	}
	return 1
}

// class writes a bracket expression, or the bracket itself where it has no end.
func class(b *strings.Builder, rest string) int {
	end := strings.IndexByte(rest, ']')
	if end == 1 || end == 2 && (rest[1] == '!' || rest[1] == '^') {
		if next := strings.IndexByte(rest[end+1:], ']'); next >= 0 {
			end += 1 + next
		} else {
			end = -1
		}
	}
	if end < 0 {
		b.WriteString(`\[`)
		return 1
	}
	body := rest[1:end]
	b.WriteString("(?!/)[") // a class never is a slash
	if body[0] == '!' || body[0] == '^' {
		b.WriteByte('^')
		body = body[1:]
	}
	for i, part := range strings.Split(body, "-") {
		if i > 0 {
			b.WriteByte('-')
		}
		kit.WriteLiteral(b, part)
	}
	b.WriteByte(']')
	return end + 1
}
