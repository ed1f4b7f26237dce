package initial

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
)

// Carry returns what the deny and ask rules of another policy are in this language, since obstat.yaml
// decides where there is one, and a list of those that it cannot say. Rules that allow are not carried
// over: the preset, and the first asks, take their place.
func Carry(p *obstat.Program, file string) (out []Line, left []string) {
	seen := map[string]bool{}
	for _, list := range []string{"deny", "ask"} {
		for i := range p.Rules[list] {
			r := &p.Rules[list][i]
			key := list + r.String()
			if r.Verdict == obstat.Allow || r.Layer == "built in" || seen[key] {
				continue
			}
			seen[key] = true
			sentence := said(r.String())
			if _, _, ok := native.Sentence(sentence); !ok {
				left = append(left, fmt.Sprintf("%s %s", r.Verdict, r))
				continue
			}
			out = append(out, Line{r.Verdict.String(), sentence, "From " + file + "."})
		}
	}
	return out, left
}

// said turns a rule as Claude Code writes it, `Bash(rm *)`, into a sentence; "" where it cannot.
func said(rule string) string {
	tool, rest, ok := strings.Cut(rule, "(")
	content := strings.TrimSuffix(rest, ")")
	if ok && !strings.HasSuffix(rest, ")") {
		return ""
	}
	switch tool {
	case "Bash":
		for _, end := range []string{":*", " *"} {
			content = strings.TrimSuffix(content, end)
		}
		if ok && content != "" && !strings.ContainsAny(content, `*,"'`) {
			return "run " + content
		}
	case "Read", "Edit", "Write":
		verb := map[string]string{"Read": "read", "Edit": "write", "Write": "write"}[tool]
		switch {
		case !ok:
			return verb + " anything"
		case strings.HasPrefix(content, "//"):
			return verb + " " + content[1:]
		case strings.HasPrefix(content, "/"):
			return verb + " ." + content
		}
		return verb + " " + content
	case "WebFetch":
		if host, is := strings.CutPrefix(content, "domain:"); is {
			return "connect " + host
		}
		if !ok {
			return "connect anywhere"
		}
	}
	if !ok && strings.HasPrefix(tool, "mcp__") {
		if strings.Count(tool, "__") == 1 {
			tool += "__*"
		}
		return "tool " + tool
	}
	return ""
}
