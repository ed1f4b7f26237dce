package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

var (
	_ dialect.Offerer = Dialect{}
	_ dialect.Editor  = Dialect{}
	_ dialect.Trier   = Dialect{}
	_ dialect.Liner   = Dialect{}
)

// alwaysPriority is that of the rules that Gemini CLI writes for "always allow".
const alwaysPriority = 950

// maxOffers is how many commands of one line rules are proposed for.
const maxOffers = 5

// Offers proposes the rules of Gemini CLI's "always allow": the first words of each command, a
// file, a tool of a server.
func (Dialect) Offers(l *dialect.Loaded, call *obstat.Call, world obstat.World,
	d *obstat.Decision) (out []obstat.Offer) {
	if d.Safety || len(call.Subjects) > 0 || d.Rule != nil && d.Rule.Tool == obstat.Is(toolChecker) {
		return nil
	}
	name := toolName(call.Tool)
	add := func(tool, key, value string) {
		text := fmt.Sprintf("{ toolName = %s, %s = %s, decision = \"allow\", priority = %d }", tomlText(tool), key,
			tomlText(value), alwaysPriority)
		r := obstat.Rule{Tool: obstat.Is(name), Verdict: obstat.Allow, Source: text, ID: "offer"}
		if key == "commandPrefix" {
			r.Field, r.Pattern = prefixRegexp(value).look(&rule{tool: r.Tool, verdict: obstat.Allow})
		}
		out = kit.AddOffer(out, modeDefault, r, text)
	}
	a := (&obstat.Facts{Call: call, World: world}).Analysis()
	switch server, tool, mcp := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__"); {
	case name == shellTool:
		for i := range a.Commands {
			c := &a.Commands[i]
			plain := len(c.Via) == 0 && c.Known && len(c.Env) == 0 && !strings.ContainsAny(c.Text, "\n\r\x00")
			if !plain || len(out) >= 2*maxOffers {
				continue
			}
			if len(c.Words) > 2 && kit.Subcommand(c.Words[1].Text) {
				add(shellTool, "commandPrefix", c.Path+" "+c.Words[1].Text)
			}
			add(shellTool, "commandPrefix", strings.TrimSpace(a.Source[c.Span.Start:c.Span.End]))
		}
	case mcp && strings.HasPrefix(name, "mcp__") && !strings.Contains(name, "*"):
		add(tool, "mcpName", server)
	case name == "read_file" || name == "write_file" || name == "replace":
		for i := range a.Effects {
			if raw := a.Effects[i].Raw; raw != "" && call.Tool == name {
				add(name, "argsPattern", `\x00`+kit.Literal(`"file_path":`+jsonx.Quote(raw))+`\x00`)
			}
		}
	}
	return out
}

// With returns the policy with the rules in the last file that is not the administrator's:
// where they stand among the others hangs on their priority.
func (Dialect) With(l *dialect.Loaded, offers ...obstat.Offer) (*obstat.Policy, error) {
	in := l.Input
	at := slices.IndexFunc(in.Files, func(f dialect.File) bool { return tierOf(&f, in.Home) == tierAdmin }) - 1
	if at == -2 {
		at = len(in.Files) - 1
	}
	if at < 0 {
		return nil, errors.New("there is no file to write the rule to")
	}
	return l.WithIn(at, offers...)
}

// AddRule writes the rule as the last table of a file.
func (Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	line := []byte("x = " + offer.Text)
	want, problems := tomlx.Parse(line)
	made := want.Get("x")
	have, broken := tomlx.Parse(f.Data)
	if tree.Fatal(problems) || tree.Fatal(broken) || !made.Is(tree.Object) {
		return nil, textedit.ErrRefused
	}
	rules := have.Get(keyRule)
	switch {
	case rules == nil:
	case !rules.Is(tree.Array) || len(rules.Elems) == 0 || !asTables(f, rules):
		return nil, textedit.ErrRefused // written as a list of values, which takes no further tables
	case slices.ContainsFunc(rules.Elems, func(e *tree.Node) bool { return tree.Equal(e, made) }):
		return f.Data, nil
	}
	var b bytes.Buffer
	b.Write(f.Data)
	if n := len(f.Data); n > 0 {
		if f.Data[n-1] != '\n' {
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	b.WriteString("[[" + keyRule + "]]\n")
	for _, m := range made.Members {
		fmt.Fprintf(&b, "%s = %s\n", m.Key, m.Value.Source(line))
	}
	return b.Bytes(), nil
}

// RuleLines returns the lines of a table, from its header to its last value.
func (Dialect) RuleLines(f *dialect.File, at obstat.Pos) (first, last int) {
	root, problems := tomlx.Parse(f.Data)
	if isSettings(f.Name) || tree.Fatal(problems) {
		return 0, 0
	}
	for _, key := range []string{keyRule, keyChecker} {
		list := root.Get(key)
		if !list.Is(tree.Array) || !asTables(f, list) {
			continue
		}
		for _, e := range list.Elems {
			if p := f.Pos(e.Start); p.Line == at.Line && p.Col == at.Col {
				return p.Line, f.Pos(endOf(e) - 1).Line
			}
		}
	}
	return 0, 0
}

// asTables tells whether a list is written as tables, [[rule]].
func asTables(f *dialect.File, list *tree.Node) bool {
	return bytes.HasPrefix(f.Data[list.Start:], []byte("[["))
}

// endOf returns where the last value of a table ends.
func endOf(n *tree.Node) int {
	end := max(n.End, n.Start+1)
	for _, m := range n.Members {
		end = max(end, endOf(m.Value))
	}
	return end
}
