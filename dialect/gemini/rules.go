package gemini

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// defaultRules are the rules that Gemini CLI brings along.
//
//go:embed defaults.toml
var defaultRules []byte

//go:embed tables.txt
var tablesText string

// tables are the lists of Gemini CLI.
var tables = sync.OnceValue(func() map[string][]string { return kit.Tables(tablesText) })

const (
	keyRule    = "rule"
	keyChecker = "safety_checker"
	shellTool  = "run_shell_command"
)

// A rule is one of a file, for one tool and one pattern.
type rule struct {
	tier     tier
	priority int
	tool     obstat.Text // which tools it is about
	name     string      // as it is written
	agent    bool        // the name may be a subagent's
	verdict  obstat.Verdict
	modes    []string // none: all
	regexp   *jsRegexp
	redirect bool   // a redirect does not make it ask
	message  string // for the model, with a denial
	source   string
	layer    string
	pos      obstat.Pos
	checker  string // "in-process" or "external" name; "" is no checker
}

// shell tells whether the rule is about commands, too.
func (r *rule) shell() bool { return r.tool.IsZero() || r.tool == obstat.Is(shellTool) }

// in tells whether the rule counts in a mode.
func (r *rule) in(mode string) bool { return len(r.modes) == 0 || slices.Contains(r.modes, mode) }

// A loader collects the rules of all files.
type loader struct {
	kit.Reader
	alone   bool // without a person to ask
	rules   []rule
	servers []string // that rules name
}

// decisions are Gemini CLI's words for verdicts.
var decisions = map[string]obstat.Verdict{"allow": obstat.Allow, "ask_user": obstat.Ask, "deny": obstat.Deny}

// defaults reads the rules that Gemini CLI brings along. They have no place in a file.
func (l *loader) defaults() {
	f := &dialect.File{Name: "defaults.toml", Layer: layerBuiltIn, Data: defaultRules}
	l.tables(f, tierDefault)
	for i := range l.rules {
		l.rules[i].pos = obstat.Pos{}
	}
}

// builtIn tells whether the rules being read are those of Gemini CLI.
func (l *loader) builtIn() bool { return l.File.Layer == layerBuiltIn }

const layerBuiltIn = "built in"

var (
	// common are the keys of rules and of checkers.
	common = []tree.Field{
		kit.Needed("toolName", tree.String, tree.Array), kit.Key("mcpName", tree.String),
		kit.Key("argsPattern", tree.String), kit.Key("commandPrefix", tree.String, tree.Array),
		kit.Key("commandRegex", tree.String), kit.Key("modes", tree.Array),
		kit.Key("toolAnnotations", tree.Object), kit.Key("name"), kit.Key("description"),
	}
	ruleFields = append(slices.Clip(common),
		kit.Needed("decision", tree.String), kit.Needed("priority", tree.Number),
		kit.Key("subagent", tree.String), kit.Key("interactive", tree.Bool),
		kit.Key("allowRedirection", tree.Bool), kit.Key("allow_redirection", tree.Bool),
		kit.Key("denyMessage", tree.String), kit.Key("deny_message", tree.String))
	checkerFields = append(slices.Clip(common),
		kit.Key("priority", tree.Number), kit.Needed("checker", tree.Object))
)

func (l *loader) tables(f *dialect.File, t tier) {
	root := l.Read(f, tomlx.Parse)
	if root == nil {
		return
	}
	l.Fields(root, kit.Key(keyRule, tree.Array), kit.Key(keyChecker, tree.Array))
	for _, list := range []struct {
		key    string
		fields []tree.Field
	}{{keyRule, ruleFields}, {keyChecker, checkerFields}} {
		n := root.Get(list.key)
		for _, e := range n.Items() {
			before := len(l.Errs)
			l.Fields(e, list.fields...)
			if !e.Is(tree.Object) || l.Errs[before:].Fatal() != nil {
				continue
			}
			l.table(f, t, e, list.key == keyChecker)
		}
	}
}

// table reads one rule, or one checker.
func (l *loader) table(f *dialect.File, t tier, n *tree.Node, checker bool) {
	r := rule{tier: t, layer: f.Layer, pos: l.Pos(n), message: str(n, "denyMessage", "deny_message")}
	ok := l.scalars(n, &r, checker)
	if inter := n.Get("interactive"); inter.Is(tree.Bool) && inter.Bool == l.alone {
		return // for the other kind of session
	}
	if t == tierExtension && !checker && (r.verdict == obstat.Allow || slices.Contains(r.modes, modeYolo)) {
		l.Warn(n, obstat.CodeNoEffect, "", "an extension may only tighten; this rule is not used")
		return
	}
	patterns, fine := l.patterns(n)
	if !ok || !fine || !l.strict(n, &r) {
		return
	}
	names := l.oneOrMore(n.Get("toolName"), "toolName")
	for _, p := range patterns {
		for _, name := range names {
			one := r
			one.regexp = p
			if l.tool(name, n.Get("mcpName"), &one) && one.usable() {
				one.source = one.text(n, f.Data, name.Str, p)
				l.rules = append(l.rules, one)
			}
		}
	}
}

// oneOrMore returns the texts of a key that holds one, or a list of them.
func (l *loader) oneOrMore(n *tree.Node, key string) []*tree.Node {
	if n.Is(tree.Array) {
		return l.Texts(n, key)
	}
	return []*tree.Node{n}
}

// usable tells whether a rule can be held to: one that allows by an expression that cannot be
// run allows nothing.
func (r *rule) usable() bool {
	return r.regexp == nil || r.regexp.why == "" || r.verdict != obstat.Allow
}

// str returns the first of the keys that is a text.
func str(n *tree.Node, keys ...string) string {
	for _, key := range keys {
		if v := n.Get(key); v.Is(tree.String) {
			return v.Str
		}
	}
	return ""
}

// scalars reads the values of a rule that are one word or number.
func (l *loader) scalars(n *tree.Node, r *rule, checker bool) bool {
	ok := true
	fail := func(at *tree.Node, hint, format string, args ...any) {
		l.Fail(at, obstat.CodeBadValue, hint, format, args...)
		ok = false
	}
	if p := n.Get("priority"); p != nil {
		v, err := strconv.ParseFloat(p.Num, 64)
		switch {
		case err != nil || v != math.Trunc(v):
			fail(p, "", "priority should be a whole number, not %s", p.Num)
		case !checker && (v < 0 || v > 999):
			fail(p, "", "priority should be from 0 to 999, not %s", p.Num)
		}
		r.priority = int(v)
	}
	if m := n.Get("modes"); m != nil {
		for _, e := range l.Texts(m, "modes") {
			if !slices.Contains(modeNames, e.Str) {
				fail(e, dialect.Near(e.Str, modeNames...), "there is no mode %q; there are %s", e.Str,
					strings.Join(modeNames, ", "))
			}
			r.modes = append(r.modes, e.Str)
		}
	}
	for _, key := range []string{"allowRedirection", "allow_redirection"} {
		if b := n.Get(key); b.Is(tree.Bool) {
			r.redirect = b.Bool
			break
		}
	}
	if checker {
		return l.checker(n.Get("checker"), r) && ok
	}
	d := n.Get("decision")
	var is bool
	if r.verdict, is = decisions[d.Str]; !is {
		fail(d, dialect.Near(d.Str, "allow", "ask_user", "deny"),
			"there is no decision %q; there are allow, ask_user and deny", d.Str)
	}
	return ok
}

// checker reads which code looks at the call. Only allowed-path is known here: any other makes
// the call an ask.
func (l *loader) checker(n *tree.Node, r *rule) bool {
	before := len(l.Errs)
	l.Fields(n, kit.Needed("type", tree.String), kit.Needed("name", tree.String),
		kit.Key("required_context", tree.Array), kit.Key("config", tree.Object))
	if l.Errs[before:].Fatal() != nil {
		return false
	}
	kind, name := n.Get("type"), n.Get("name")
	switch {
	case kind.Str == "in-process" && name.Str == checkPaths:
		r.verdict = obstat.Deny
		if cfg := n.Get("config"); cfg != nil && len(cfg.Members) > 0 {
			l.Warn(cfg, obstat.CodeNoEffect, "", "the checker looks at all paths of a call; its config is not read")
		}
	case kind.Str == "in-process" && name.Str == "conseca", kind.Str == "external":
		l.Warn(name, obstat.CodeNoEffect, "", "obstat does not run the checker %q: what it would look at is asked about",
			name.Str)
		r.verdict = obstat.Ask
	case kind.Str == "in-process":
		l.Fail(name, obstat.CodeBadValue, dialect.Near(name.Str, checkPaths, "conseca"), "there is no checker %q", name.Str)
		return false
	default:
		l.Fail(kind, obstat.CodeBadValue, dialect.Near(kind.Str, "in-process", "external"),
			"a checker is in-process or external, not %q", kind.Str)
		return false
	}
	r.checker = name.Str
	return true
}

// checkPaths is the checker that denies paths outside of the workspace.
const checkPaths = "allowed-path"

// strict reads the keys that obstat cannot look at in a call: which subagent makes it, how a server
// describes its tool. A rule with such a key denies or asks about every call; one that allows is dropped.
func (l *loader) strict(n *tree.Node, r *rule) bool {
	for _, key := range []string{"subagent", "toolAnnotations"} {
		v := n.Get(key)
		if v == nil {
			continue
		}
		if r.verdict == obstat.Allow {
			l.Warn(v, obstat.CodeNoEffect, "", "obstat does not know the %s of a call: this rule allows nothing", key)
			return false
		}
		l.Warn(v, obstat.CodeRisky, "", "obstat does not know the %s of a call: this rule holds for all", key)
	}
	return true
}

// isShell tells whether a tool of some agent runs commands.
func isShell(name string) bool {
	t, _ := effect.Lookup(name)
	return t.Canonical == "shell"
}

// patterns returns the expressions of a rule, nil among them for none.
func (l *loader) patterns(n *tree.Node) (out []*jsRegexp, ok bool) {
	args, prefix, re := n.Get("argsPattern"), n.Get("commandPrefix"), n.Get("commandRegex")
	allows := str(n, "decision") == "allow" // a checker has none
	tool := n.Get("toolName")
	switch {
	case prefix == nil && re == nil:
	case args == nil && tool.Is(tree.String) && tool.Str != shellTool && isShell(tool.Str):
		// Gemini CLI tells this and keeps the rule
		l.Warn(tool, obstat.CodeConflict, fmt.Sprintf("write toolName = %q", shellTool),
			"commandPrefix and commandRegex are for %s; this rule is about a tool %q, which Gemini CLI does not have",
			shellTool, tool.Str)
	case !tool.Is(tree.String) || tool.Str != shellTool:
		l.Fail(tool, obstat.CodeConflict, "", "commandPrefix and commandRegex go with toolName = %q alone", shellTool)
		return nil, false
	case args != nil:
		l.Fail(args, obstat.CodeConflict, "", "argsPattern does not go with commandPrefix or commandRegex")
		return nil, false
	case prefix != nil && re != nil:
		l.Fail(re, obstat.CodeConflict, "", "commandRegex does not go with commandPrefix")
		return nil, false
	}
	switch {
	case prefix != nil && !(prefix.Is(tree.String) && prefix.Str == ""):
		for _, p := range l.oneOrMore(prefix, "commandPrefix") {
			re := prefixRegexp(p.Str)
			if len(re.python) > maxExpression || len(re.rest) > maxExpression {
				l.Fail(p, obstat.CodeBadPattern, "", "a beginning of %d bytes is too long", len(p.Str))
				return nil, false
			}
			out = append(out, re)
		}
		return out, true
	case re != nil && re.Str != "":
		return l.compiled(re, `"command":"`, allows)
	case args != nil && args.Str != "":
		return l.compiled(args, "", allows)
	}
	return []*jsRegexp{nil}, true
}

// maxExpression is how long an expression may be that obstat makes of a text: a pattern has 64 KiB, "(?a)" with it.
const maxExpression = 64<<10 - len("(?a)")

// compiled reads the expression in n, behind a fixed beginning.
func (l *loader) compiled(n *tree.Node, before string, allows bool) ([]*jsRegexp, bool) {
	re, err := parseRegexp(before + n.Str)
	// Gemini CLI drops the rule and takes the others. Without an allow rule the calls are asked about; a denial that is
	// not there is an error.
	tell := l.Fail
	if allows {
		tell = func(n *tree.Node, code obstat.Code, hint, format string, args ...any) *obstat.Error {
			return l.Warn(n, code, hint, format+"; this rule allows nothing", args...)
		}
	}
	if err != nil {
		e := tell(n, obstat.CodeBadPattern, "", "the expression cannot be read: %s", err.Msg)
		e.Pos = l.File.Within(n, max(err.At-len(before), 0))
		return nil, false
	}
	switch nested := nestedQuantifier(before + n.Str); {
	case l.builtIn():
	case len(n.Str) > 2048 || nested:
		tell(n, obstat.CodeBadPattern, "write it without", "Gemini CLI takes this expression for too slow (a repeated "+
			"group that repeats, or more than 2048 characters) and drops the rule")
		return nil, false
	}
	if re.why != "" {
		l.Warn(n, obstat.CodeRisky, "", "%s in an expression: this rule allows nothing; if it denies or asks, it does so whatever the arguments are", re.why)
	}
	return []*jsRegexp{re}, true
}

// nestedQuantifier tells whether Gemini CLI drops an expression: a bracket that holds a
// quantifier, and behind it, on one line, a closing one with a quantifier.
func nestedQuantifier(s string) bool {
	for at := 0; ; {
		open := strings.IndexByte(s[at:], '(')
		if open < 0 {
			return false
		}
		at += open + 1
		inside, _, _ := strings.Cut(s[at:], ")")
		q := strings.IndexAny(inside, "*+?{")
		if q < 0 {
			continue
		}
		line, _, _ := strings.Cut(s[at+q+1:], "\n")
		for i := 0; i+1 < len(line); i++ {
			if line[i] == ')' && strings.IndexByte("*+?{", line[i+1]) >= 0 {
				return true
			}
		}
	}
}

// tool reads the name of a rule's tools.
func (l *loader) tool(n, server *tree.Node, r *rule) bool {
	if n.Str == "" || server != nil && server.Str == "" {
		l.Fail(n, obstat.CodeBadValue, "", `a name is empty; "*" is every tool`)
		return false
	}
	if r.name = n.Str; server == nil && strings.Contains(n.Str, "__") {
		l.Warn(n, obstat.CodeRisky, `write mcpName = "server", or mcp_server_tool in settings`,
			`%q is an old notation for a tool of a server`, n.Str)
	}
	l.serversOf(n.Str, server)
	var exact bool
	if r.tool, exact = toolText(n.Str, server); !exact && r.verdict == obstat.Allow {
		l.Warn(n, obstat.CodeNoEffect, "", "Gemini CLI takes this name by the letter, so that the rule allows nothing")
		return false
	}
	r.agent = server == nil && r.tool == obstat.Is(n.Str) && !slices.Contains(tables()["tools"], n.Str)
	if r.agent && !l.builtIn() {
		if near := dialect.Near(n.Str, tables()["tools"]...); near != "" {
			l.Warn(n, obstat.CodeUnknownName, near, "no tool of Gemini CLI is called %q", n.Str)
		}
	}
	return true
}

// serversOf notes the servers that a rule names. Without mcpName the server's name may end at any
// underscore.
func (l *loader) serversOf(name string, server *tree.Node) {
	note := func(s string) {
		if s != "" && s != "*" && !slices.Contains(l.servers, s) {
			l.servers = append(l.servers, s)
		}
	}
	if server != nil {
		note(server.Str)
	} else if rest, ok := strings.CutPrefix(name, "mcp_"); ok {
		for i := range rest {
			if rest[i] == '_' && i+1 < len(rest) {
				note(rest[:i])
			}
		}
	}
}

// text returns the rule as one line of TOML.
func (r *rule) text(n *tree.Node, src []byte, tool string, p *jsRegexp) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{ toolName = %s", tomlText(tool))
	for _, m := range n.Members {
		switch {
		case m.Key == "toolName" || m.Key == "name" || m.Key == "description":
		case m.Key == "commandPrefix" && p != nil:
			fmt.Fprintf(&b, ", %s = %s", m.Key, tomlText(p.prefix))
		default:
			fmt.Fprintf(&b, ", %s = %s", m.Key, strings.Join(strings.Fields(string(m.Value.Source(src))), " "))
		}
	}
	return b.String() + " }"
}

// tomlText writes a text so that TOML reads it again.
func tomlText(s string) string {
	if !strings.ContainsAny(s, "'\n\r\t\x00") && strings.ContainsAny(s, `"\`) {
		return "'" + s + "'"
	}
	return jsonx.Quote(s)
}
