package claudecode

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/paths"
)

var (
	_ dialect.Offerer = Dialect{}
	_ dialect.Editor  = Dialect{}

	_ dialect.Generalizer = Dialect{}
)

// maxOffers is how many commands of one line are remembered at once.
const maxOffers = 5

// Offers returns the rules of "don't ask again": the commands of a line that
// no rule covers by their first words, a host, an MCP tool, a file.
func (Dialect) Offers(l *dialect.Loaded, call *obstat.Call, world obstat.World,
	d *obstat.Decision) (out []obstat.Offer) {
	if d.Safety || d.Rule != nil || len(call.Subjects) > 0 {
		return nil // an ask rule is asked each time
	}
	for _, text := range remembered(l, call, world) {
		if o, ok := offer(text); ok {
			out = kit.AddOffer(out, o.List, o.Rule, text)
		}
	}
	return out
}

// offer returns the offer of a rule as it is written; ok is false for one that would do nothing.
func offer(text string) (o obstat.Offer, ok bool) {
	s, err := parseSpec(text)
	if err != nil {
		return o, false
	}
	r, trap := s.compile(obstat.Allow, dialect.LayerLocal)
	if trap != nil {
		return o, false
	}
	r.Source = text
	return obstat.Offer{Rule: *r, List: listAllow, Scope: "always", Text: text}, true
}

func remembered(l *dialect.Loaded, call *obstat.Call, world obstat.World) (out []string) {
	t, _ := effect.Lookup(call.Tool)
	name := toolName(call.Tool, &t)
	a := (&obstat.Facts{Call: call, World: world}).Analysis()
	switch {
	case slices.Contains(bashTools, name):
		return commands(l, call, world, a)
	case slices.Contains(readTools, name):
		for i := range a.Effects {
			if p := a.Effects[i].Path; p != "" && plainPath(p) && a.Effects[i].Kind == effect.Read {
				out = append(out, "Read(/"+p+")", "Read(/"+strings.TrimSuffix(path.Dir(p), "/")+"/**)")
			}
		}
	case slices.Contains(editTools, name):
		for i := range a.Effects {
			if p := a.Effects[i].Path; p != "" && plainPath(p) && a.Effects[i].Kind != effect.Read {
				out = append(out, "Edit(/"+p+")")
			}
		}
	case name == "WebFetch":
		for i := range a.Effects {
			if host := hostOf(a.Effects[i].Raw); host != "" && !strings.ContainsAny(host, "*()") {
				out = append(out, "WebFetch(domain:"+host+")")
			}
		}
	case strings.HasPrefix(name, "mcp__") && !strings.Contains(name, "*"), name == "WebSearch":
		out = append(out, name)
	}
	return out
}

// plainPath tells whether a path means itself in a pattern.
func plainPath(p string) bool { return !strings.ContainsAny(p, "*?[]!\\()") && path.IsAbs(p) }

// commands returns the offers for each command of a line that is asked
// about: it alone, and its first words.
func commands(l *dialect.Loaded, call *obstat.Call, world obstat.World, a *effect.Analysis) (out []string) {
	n := 0
	for i := range a.Commands {
		c := &a.Commands[i]
		if !c.Known || c.Wrapper || len(c.Env) > 0 || strings.ContainsAny(c.Text, "*()\n\\") || n == maxOffers {
			continue
		}
		one := *call
		one.Input = []byte(`{"command":` + jsonx.Quote(c.Text) + `}`)
		if l.Policy.Decide(&one, world).Verdict != obstat.Ask {
			continue
		}
		n++
		out = append(out, "Bash("+c.Text+")")
		if head := firstWords(c); head != "" && head != c.Text {
			out = append(out, "Bash("+head+" *)")
		}
	}
	return out
}

// firstWords returns the program and its subcommand.
func firstWords(c *effect.Command) string {
	if len(c.Words) < 2 || !kit.Subcommand(c.Words[1].Text) {
		return ""
	}
	return c.Program + " " + c.Words[1].Text
}

// RuleFor says an effect as a rule: Bash(npm run *), Edit(/src/**).
func (Dialect) RuleFor(_ *dialect.Loaded, kind, target, anchor string) (obstat.Offer, bool) {
	text := ""
	switch kind {
	case dialect.EffectRun:
		if !strings.ContainsAny(target, "*()\n\\") {
			text = "Bash(" + target + " *)"
		}
	case obstat.FaceRead, obstat.FaceWrite:
		tool := map[string]string{obstat.FaceRead: "Read", obstat.FaceWrite: "Edit"}[kind]
		if rel := strings.TrimPrefix(target, anchor); plainPath(target) && paths.Inside(anchor, target) && rel != "" {
			text = tool + "(" + rel + "/**)"
		} else if plainPath(target) {
			text = tool + "(/" + target + "/**)"
		}
	case obstat.FaceConnect:
		if !strings.ContainsAny(target, "*()") {
			text = "WebFetch(domain:" + target + ")"
		}
	}
	return offer(text)
}

// AddRule writes the rule to the end of permissions.allow.
func (Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	src := f.Data
	if len(bytes.TrimSpace(src)) == 0 {
		src = []byte("{}\n")
	}
	return textedit.JSON.AppendOnce(src, offer.Text, keyPermissions, cmp.Or(offer.List, listAllow))
}
