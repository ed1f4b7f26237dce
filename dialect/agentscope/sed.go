package agentscope

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
)

// sedConstraints finds sed scripts that write files or run commands. The bare
// document takes a short list of scripts and asks about every other.
func (t *toolset) sedConstraints(_ *obstat.Facts, a *effect.Analysis) (note, part string) {
	const why = "safety check: sed "
	for i := range a.Gaps {
		if g := &a.Gaps[i]; g.Hides && g.Command >= 0 && a.Commands[g.Command].Program == "sed" {
			return why + "script that cannot be read: " + g.Why, text(a, g.Span)
		}
	}
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Program != "sed" {
			continue
		}
		if e.Kind == effect.Code {
			return why + "script that writes or executes", text(a, e.Span)
		}
	}
	if !t.Bare {
		return "", ""
	}
	if len(a.Commands) == 0 && strings.Contains(a.Source, "sed") {
		return "safety check: sed command has invalid shell syntax", a.Source
	}
	for i := range a.Commands {
		if c := &a.Commands[i]; c.Program == "sed" {
			if why := bareSed(c); why != "" {
				return "safety check: " + why, text(a, c.Span)
			}
		}
	}
	return "", ""
}

// bareSed is the document's allow-list: -n, -E, -e and -i, and the scripts that
// substitute or print lines by number.
func bareSed(c *effect.Command) string {
	var scripts []string
	flags := ""
	args := c.Args()
	for i := 0; i < len(args); i++ {
		switch s := args[i].Text; {
		case s == "--expression" || s == "-e":
			if i++; i < len(args) {
				scripts = append(scripts, args[i].Text)
			}
		case strings.HasPrefix(s, "--"):
			if s == "--in-place" {
				flags += "i"
			}
		case strings.HasPrefix(s, "-") && s != "-":
			flags += s[1:]
			if strings.Contains(s, "i") && i+1 < len(args) && suffix(args[i+1].Text) {
				i++
			}
		case len(scripts) == 0:
			scripts = append(scripts, s)
		case strings.Contains(flags, "i") && dangerousWithin(s):
			return "sed -i modifying dangerous file: " + s
		}
	}
	if len(scripts) == 0 {
		return "sed command missing expression"
	}
	if bad := strings.Trim(flags, "nEei"); bad != "" {
		return "sed flag -" + bad[:1] + " not allowed"
	}
	for _, s := range scripts {
		if !bareScript(s, strings.Contains(flags, "n")) {
			return "sed expression '" + s + "' not in allowlist"
		}
	}
	return ""
}

// suffix tells whether the document takes a word after -i for the suffix of a
// backup.
func suffix(s string) bool {
	return !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "s") && !strings.Contains(s, ".")
}

// dangerousWithin tells whether a file's name holds that of a dangerous one.
func dangerousWithin(name string) bool {
	return slices.ContainsFunc(tables()["dangerous files"], func(f string) bool { return strings.Contains(name, f) })
}

func bareScript(s string, quiet bool) bool {
	if quiet && strings.HasSuffix(s, "p") && strings.Trim(s[:len(s)-1], "0123456789,") == "" && len(s) > 1 {
		return true
	}
	if len(s) < 2 || s[0] != 's' || !strings.ContainsRune("/|#", rune(s[1])) {
		return false
	}
	if strings.ContainsAny(s, "{}!") || strings.Contains(s, "#") && s[1] != '#' {
		return false
	}
	parts := strings.Split(s[2:], s[1:2])
	return len(parts) == 2 || len(parts) > 2 && strings.Trim(parts[2], "gp0123456789") == ""
}
