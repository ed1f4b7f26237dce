package opencode

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
)

var (
	_ dialect.Offerer = Dialect{}
	_ dialect.Trier   = Dialect{}

	_ dialect.Generalizer = Dialect{}
)

// Offers returns the rules that "always" would remember. The document remembers the very
// value. The program remembers a command by its first words, and of anything
// else everything; with the floor on, this very file or address is offered, and
// no more.
func (Dialect) Offers(l *dialect.Loaded, call *obstat.Call, world obstat.World, d *obstat.Decision) []obstat.Offer {
	p, err := readParams(l.Program.Params)
	if err != nil {
		return nil
	}
	asks := []Ask{{Permission: call.Tool, Patterns: call.Subjects}}
	if len(call.Subjects) == 0 {
		if asks, err = Asks(p.Order, p.Floor, call, world); err != nil {
			return nil
		}
		if p.Floor {
			asks = append(asks, redirects(call, world)...)
		}
	}
	var out []obstat.Offer
	seen := map[string]bool{}
	for i := range asks {
		a := &asks[i]
		for _, text := range p.remembered(l, call, a) {
			r := Rule{Permission: a.Permission, Pattern: text, Action: obstat.Allow}
			if key := r.Permission + "\x00" + text; !seen[key] && writable(&r, p.Order) {
				seen[key] = true
				out = append(out, offer(&r, p.Order))
			}
		}
	}
	return out
}

// RuleFor says an effect as a rule: "bash": {"npm run *": "allow"}, "edit": {"src/*": "allow"}.
func (Dialect) RuleFor(l *dialect.Loaded, kind, target, anchor string) (obstat.Offer, bool) {
	p, err := readParams(l.Program.Params)
	r := Rule{Action: obstat.Allow}
	switch kind {
	case dialect.EffectRun:
		r.Permission, r.Pattern = "bash", target+" *"
	case obstat.FaceRead, obstat.FaceWrite:
		rel, inside := strings.CutPrefix(target, strings.TrimSuffix(anchor, "/")+"/")
		if !inside {
			return obstat.Offer{}, false
		}
		r.Permission, r.Pattern = map[string]string{obstat.FaceRead: "read", obstat.FaceWrite: "edit"}[kind], rel+"/*"
		if p.Order == First {
			r.Pattern += "*"
		}
	}
	sayable := r.Permission != "" && !strings.ContainsAny(target, "*?[]{}!") && writable(&r, p.Order)
	if err != nil || !sayable {
		return obstat.Offer{}, false
	}
	return offer(&r, p.Order), true
}

// redirects returns the floor's asks for the redirects of a command: to edit the file.
func redirects(call *obstat.Call, world obstat.World) (out []Ask) {
	f := &obstat.Facts{Call: call, World: world}
	c := &callView{f: f}
	if a := f.Analysis(); a != nil {
		for i := range a.Effects {
			if e := &a.Effects[i]; e.Kind == effect.Write && e.Tags.Has(effect.Redirect) && e.Path != "" {
				out = append(out, Ask{Permission: "edit", Patterns: []string{c.relative(e.Path)}})
			}
		}
	}
	return out
}

// AlwaysOffers returns the offers of patterns that a tool itself proposes to
// remember for an ask. A pattern that matches none of the asked ones has nothing
// to do with it and is left out. The document remembers the very value and
// nothing that it would match as a pattern: `! grep -q x f` does not allow
// everything but that.
func AlwaysOffers(prog *obstat.Program, permission string, asked, always []string) (out []obstat.Offer) {
	p, err := readParams(prog.Params)
	if err != nil {
		return nil
	}
	for _, text := range always {
		r := Rule{Permission: permission, Pattern: text, Action: obstat.Allow}
		about := func(value string) bool { ok, err := matches(r.text(p.Order), value); return ok && err == nil }
		if p.Order == First {
			if slices.Contains(asked, text) {
				r.Pattern = quoteGlob(text)
			}
			about = func(value string) bool { return r.Pattern == quoteGlob(value) }
		}
		if slices.ContainsFunc(asked, about) {
			out = append(out, offer(&r, p.Order))
		}
	}
	return out
}

// offer returns the offer of a rule.
func offer(r *Rule, o Order) obstat.Offer {
	return obstat.Offer{Rule: r.compile(o), List: listRules, Scope: "always", Text: r.String()}
}

// writable tells whether a rule means the same once it stands in a file: no
// home directory is put in, nothing is replaced, and its key keeps its place.
func writable(r *Rule, o Order) bool {
	replaced := strings.Contains(r.Pattern, "{env:") || strings.Contains(r.Pattern, "{file:")
	moved := isIndex(r.Pattern) || isIndex(r.Permission)
	return !replaced && !moved && (o == First || !needsHome(r.Pattern))
}

// remembered returns the patterns that are offered for an ask, those of its
// patterns that are allowed already left out.
func (p params) remembered(l *dialect.Loaded, call *obstat.Call, a *Ask) (out []string) {
	asked := a.asked(l, call)
	switch {
	case len(asked) == 0:
		return nil
	case p.Order == First:
		for _, v := range asked {
			out = append(out, quoteGlob(v))
		}
		return out
	case a.by != nil:
		for _, v := range asked {
			out = append(out, p.commandPatterns(v, a.by[v])...)
		}
		return out
	case !p.Floor:
		return a.Always
	}
	for _, v := range asked {
		out = append(out, narrow(a.Permission, v)...)
	}
	return out
}

// commandPatterns returns the patterns that are remembered for a command. The program
// remembers `rm build` as `rm *`; with the floor on a pattern that leaves nothing but the
// program's name is the command itself.
func (p params) commandPatterns(command string, patterns []string) (out []string) {
	for _, text := range patterns {
		if name, ok := strings.CutSuffix(text, " *"); ok && p.Floor && !strings.Contains(name, " ") && command != name {
			if text = command; strings.ContainsAny(command, "*?") {
				continue
			}
		}
		out = append(out, text)
	}
	return out
}

// asked returns the patterns that the rules ask about.
func (a *Ask) asked(l *dialect.Loaded, call *obstat.Call) (out []string) {
	for _, v := range a.Patterns {
		c := obstat.Call{Tool: a.Permission, Subjects: []string{v}, Mode: call.Mode}
		if l.Policy.Decide(&c, nil).Verdict == obstat.Ask {
			out = append(out, v)
		}
	}
	return out
}

// narrow returns the patterns offered for one value, narrowest first. A value with a
// wildcard in it would mean more than itself.
func narrow(permission, value string) []string {
	if permission == permExternal && (value == "*" || value == "/*") {
		return nil // an unknown path, or the whole machine
	}
	if permission == permExternal || strings.HasPrefix(value, "mcp:") && strings.HasSuffix(value, ":*") {
		return []string{value} // the directory that was asked about, or the server
	}
	if value == "*" {
		return []string{value} // a tool without patterns
	}
	if strings.ContainsAny(value, "*?") || value == "" {
		return nil
	}
	out := []string{value}
	switch permission {
	case "read", "edit", "list":
		if dir := path.Dir(value); dir != "." && !strings.HasPrefix(value, "..") {
			out = append(out, dir+"/*")
		}
	case "webfetch":
		if u, err := url.Parse(value); err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil {
			out = append(out, "https://"+u.Host+"/*")
		}
	}
	return out
}

// With returns the policy as it would be with the offers accepted, in every
// list that the files' rules are part of.
func (d Dialect) With(l *dialect.Loaded, offers ...obstat.Offer) (*obstat.Policy, error) {
	p, err := readParams(l.Program.Params)
	if err != nil {
		return nil, err
	}
	prog := l.Policy.Program()
	for name, rules := range prog.Rules {
		if strings.HasPrefix(name, listManaged) || strings.HasPrefix(name, listUser) {
			continue // their denials stay
		}
		for i := range offers {
			rules = insert(rules, &offers[i].Rule, p.Order)
		}
		prog.Rules[name] = rules
	}
	return obstat.Compile(prog, &obstat.Options{Library: d.Library()})
}
