package codex

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
)

// The functions that rules are made with.
const (
	fnPrefix  = "prefix_rule"
	fnNetwork = "network_rule"
	fnHost    = "host_executable"
)

// The limits of running a file.
const (
	maxRulesFile = 8 << 20 // bytes of the file
	maxSteps     = 50_000
	maxMemory    = 16 << 20
)

// A script is one file of rules being run.
type script struct {
	*loader
	file  *dialect.File
	calls map[syntax.Position]*syntax.CallExpr // by the place of their bracket
	tests []examples
}

// examples are the commands that a rule must match, or must not, by the author's word.
type examples struct {
	rule    *prefixRule
	pos     obstat.Pos
	match   [][]string
	without [][]string
}

// file runs a file of rules. A call that is wrong is reported and the file goes on; an error of
// Starlark itself ends it.
func (l *loader) file(f *dialect.File) {
	l.File = f
	if len(f.Data) > maxRulesFile {
		l.Fail(nil, obstat.CodeTooLarge, "", "%d bytes; rules have at most %d", len(f.Data), maxRulesFile)
		return
	}
	parsed, err := parse(f)
	if err != nil {
		l.starlark(err)
		return
	}
	s := &script{loader: l, file: f, calls: map[syntax.Position]*syntax.CallExpr{}}
	grows := s.check(parsed)
	if l.Errs.Fatal() != nil {
		return
	}
	fns := starlark.StringDict{fnPrefix: s.builtin(fnPrefix, (*invocation).prefixRule),
		fnNetwork: s.builtin(fnNetwork, (*invocation).networkRule), fnHost: s.builtin(fnHost, (*invocation).hostExecutable)}
	prog, err := starlark.FileProgram(parsed, fns.Has)
	if err != nil {
		l.starlark(err)
		return
	}
	thread := &starlark.Thread{Name: f.Name, Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(maxSteps)
	l.overrun = false
	thread.OnMaxSteps = func(t *starlark.Thread) { l.cancel(t, "too many steps") }
	if grows {
		l.bound(thread)
	}
	if _, err := prog.Init(thread, fns); err != nil {
		l.starlark(err)
	}
	s.examples()
}

func parse(f *dialect.File) (*syntax.File, error) {
	opts := &syntax.FileOptions{TopLevelControl: true, GlobalReassign: true}
	return opts.Parse(f.Name, f.Data, 0)
}

// bound ends a thread that makes texts or lists without end. In a step a value can at most
// double; looking every few steps keeps that from going far.
func (l *loader) bound(thread *starlark.Thread) {
	const every = 4
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	start := mem.TotalAlloc
	thread.SetMaxExecutionSteps(every)
	thread.OnMaxSteps = func(t *starlark.Thread) {
		runtime.ReadMemStats(&mem)
		switch {
		case t.Steps >= maxSteps:
			l.cancel(t, "too many steps")
		case mem.TotalAlloc-start > maxMemory:
			l.cancel(t, "too much memory")
		}
		t.SetMaxExecutionSteps(t.Steps + every)
	}
}

// cancel ends a thread that takes more than a file may.
func (l *loader) cancel(t *starlark.Thread, why string) {
	l.overrun = true
	t.Cancel(why)
}

// starlark reports an error of the language, where it says.
func (l *loader) starlark(err error) {
	fail := func(p syntax.Position, code obstat.Code, msg string) {
		e := l.Fail(nil, code, "", "%s", msg)
		e.Pos = place(l.File, p)
	}
	var one syntax.Error
	var many resolve.ErrorList
	var run *starlark.EvalError
	switch {
	case errors.As(err, &one):
		fail(one.Pos, obstat.CodeSyntax, one.Msg)
		if fString(l.File, one.Pos) {
			l.Errs[len(l.Errs)-1].Hint = `obstat reads no f-strings: write "a" + b`
		}
	case errors.As(err, &many):
		for _, e := range many {
			fail(e.Pos, obstat.CodeUnknownName, e.Msg)
		}
	case errors.As(err, &run):
		at := syntax.Position{}
		for _, fr := range run.CallStack {
			if fr.Pos.Line > 0 {
				at = fr.Pos
			}
		}
		code := obstat.CodeBadValue
		if l.overrun {
			code = obstat.CodeTooLarge
		}
		fail(at, code, run.Msg)
	default:
		l.Fail(nil, obstat.CodeSyntax, "", "%v", err)
	}
}

// fString tells whether an f-string starts just before a place that cannot be read.
func fString(f *dialect.File, p syntax.Position) bool {
	lines := strings.Split(string(f.Data), "\n")
	if at := int(p.Line) - 1; at >= 0 && at < len(lines) {
		return strings.Contains(lines[at], `f"`) || strings.Contains(lines[at], `f'`)
	}
	return false
}

func place(f *dialect.File, p syntax.Position) obstat.Pos {
	return obstat.Pos{File: f.Name, Line: max(int(p.Line), 1), Col: max(int(p.Col), 1)}
}

// An invocation is a call of one of our functions. Its problems are reported; a rule with one is not added.
type invocation struct {
	*script
	fn     string
	args   starlark.Tuple
	kwargs []starlark.Tuple
	call   *syntax.CallExpr // nil: one that a method makes
	pos    obstat.Pos
	bad    bool
}

// builtin returns a function of ours as Starlark calls it.
func (s *script) builtin(name string, run func(*invocation)) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
		kwargs []starlark.Tuple) (
		starlark.Value, error) {
		at := t.CallFrame(1).Pos
		c := &invocation{script: s, fn: name, args: args, kwargs: kwargs, pos: place(s.file, at)}
		if c.call = s.calls[syntax.MakePosition(nil, at.Line, at.Col)]; c.call != nil {
			c.pos = place(s.file, syntax.Start(c.call))
		}
		run(c)
		return starlark.None, nil
	})
}

// fail reports a problem of the call, at the argument of that name if it is written there.
func (c *invocation) fail(arg string, code obstat.Code, hint, format string, args ...any) {
	c.bad = true
	e := c.Fail(nil, code, hint, format, args...)
	if e.Pos = c.pos; c.call == nil {
		return
	}
	for _, a := range c.call.Args {
		if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			if name, ok := b.X.(*syntax.Ident); ok && name.Name == arg {
				e.Pos = place(c.file, syntax.Start(b.Y))
			}
		}
	}
}

// unpack reads the arguments of the call; false: they are not those that the function takes.
func (c *invocation) unpack(pairs ...any) bool {
	err := starlark.UnpackArgs(c.fn, c.args, c.kwargs, pairs...)
	if err == nil {
		return true
	}
	var known []string
	for i := 0; i < len(pairs); i += 2 {
		known = append(known, strings.TrimRight(pairs[i].(string), "?"))
	}
	bad, hint, code := "", "", obstat.CodeWrongType
	for _, kv := range c.kwargs {
		if name := string(kv[0].(starlark.String)); !slices.Contains(known, name) {
			bad, hint, code = name, dialect.Near(name, known...), obstat.CodeUnknownKey
		}
	}
	for _, name := range known { // the library has no other sign of which argument it refuses
		if strings.Contains(err.Error(), `for parameter "`+name+`"`) {
			bad = name
		}
	}
	if strings.Contains(err.Error(), "missing argument") {
		code = obstat.CodeMissing
	}
	c.fail(bad, code, hint, "%v", err)
	return false
}

// why returns the text of a justification, which must say something.
func (c *invocation) why(v starlark.Value) string {
	text, ok := starlark.AsString(v)
	switch {
	case v == nil || v == starlark.None:
	case !ok:
		c.fail("justification", obstat.CodeWrongType, "", "justification should be a string, not %s", v.Type())
	case strings.TrimSpace(text) == "":
		c.fail("justification", obstat.CodeBadValue, "", "justification says nothing")
	}
	return text
}

// decision returns the verdict of a decision.
func (c *invocation) decision(v starlark.Value) obstat.Verdict {
	word, ok := starlark.AsString(v)
	verdict, known := decisions[word]
	switch {
	case !ok:
		c.fail("decision", obstat.CodeWrongType, "", "decision should be a string, not %s", v.Type())
	case !known && !(c.fn == fnNetwork && word == "deny"):
		c.fail("decision", obstat.CodeBadValue, dialect.Near(word, slices.Sorted(maps.Keys(decisions))...),
			"there is no decision %q; there are allow, prompt and forbidden", word)
	}
	return verdict
}

// prefixRule is prefix_rule(pattern, decision?, match?, not_match?, justification?).
func (c *invocation) prefixRule() {
	var words, match, without *starlark.List
	var decision, justification starlark.Value
	if !c.unpack("pattern", &words, "decision?", &decision, "match??", &match, "not_match??", &without,
		"justification?", &justification) {
		return
	}
	p := &prefixRule{verdict: obstat.Allow, justification: c.why(justification)}
	if decision != nil && decision != starlark.None {
		p.verdict = c.decision(decision)
	}
	if words.Len() == 0 {
		c.fail("pattern", obstat.CodeMissing, "", "the pattern has no word")
	}
	for v := range words.Elements() {
		alts, err := texts(v)
		if err != nil || len(alts) == 0 {
			c.fail("pattern", obstat.CodeWrongType, "",
				"a word of the pattern should be a string or a list of strings, not %s", v.Type())
		}
		p.pattern = append(p.pattern, alts)
	}
	ex := examples{rule: p, pos: c.pos, match: c.commands("match", match), without: c.commands("not_match", without)}
	if !c.bad {
		c.add(p, c.file.Layer, c.pos)
		c.tests = append(c.tests, ex)
	}
}

// commands returns the examples of a list.
func (c *invocation) commands(name string, list *starlark.List) (out [][]string) {
	if list == nil {
		return nil
	}
	for v := range list.Elements() {
		command, err := example(v)
		if err != nil {
			c.fail(name, obstat.CodeBadValue, "", "%s: %v", name, err)
		}
		out = append(out, command)
	}
	return out
}

// texts returns the alternatives of a word: a string, or a list of them.
func texts(v starlark.Value) ([]string, error) {
	if text, ok := starlark.AsString(v); ok {
		return []string{text}, nil
	}
	list, ok := v.(*starlark.List)
	if !ok {
		return nil, errors.New("no list")
	}
	var out []string
	for e := range list.Elements() {
		text, ok := starlark.AsString(e)
		if !ok {
			return nil, errors.New("no string")
		}
		out = append(out, text)
	}
	return out, nil
}

// example returns a command that was given as a line or as its words.
func example(v starlark.Value) ([]string, error) {
	words, err := texts(v)
	if err != nil {
		return nil, fmt.Errorf("an example should be a string or a list of strings, not %s", v.Type())
	}
	if line, ok := starlark.AsString(v); ok {
		words, err = split(line)
	}
	if err == nil && len(words) == 0 {
		err = errors.New("the example is empty")
	}
	return words, err
}

// protocols are those that a network rule may name.
var protocols = []string{"http", "https", "https_connect", "http-connect", "socks5_tcp", "socks5_udp"}

// networkRule is network_rule(host, protocol, decision, justification?). As in Codex, the
// rule holds for every protocol.
func (c *invocation) networkRule() {
	var raw, protocol string
	var decision, justification starlark.Value
	if !c.unpack("host", &raw, "protocol", &protocol, "decision", &decision, "justification?", &justification) {
		return
	}
	verdict, reason := c.decision(decision), c.why(justification)
	if !slices.Contains(protocols, protocol) {
		c.fail("protocol", obstat.CodeBadValue, dialect.Near(protocol, protocols...),
			"there is no protocol %q; there are http, https, socks5_tcp and socks5_udp", protocol)
	}
	host, err := hostName(raw)
	if err != nil {
		c.fail("host", obstat.CodeBadValue, "", "%v", err)
	}
	if c.bad {
		return
	}
	word := decisionOf(verdict)
	if verdict == obstat.Deny {
		word = "deny"
	}
	source := fmt.Sprintf("%s(host=%s, protocol=%s, decision=%s)", fnNetwork, jsonx.Quote(raw), jsonx.Quote(protocol),
		jsonx.Quote(word))
	c.network(obstat.Rule{Tool: obstat.Is(toolFetch), Field: fieldHost, Pattern: obstat.Is(host), Verdict: verdict,
		Reason: reason, Source: source, Layer: c.file.Layer, Pos: c.pos})
}

// hostName returns a host as connections are compared with it: lower case, without port,
// brackets and trailing dots.
func hostName(raw string) (string, error) {
	host := strings.TrimSpace(raw)
	if strings.ContainsAny(host, "/?#*") || strings.ContainsAny(host, " \t\r\n") {
		return "", fmt.Errorf("host should be one host's name or address, without scheme, path or wildcard, not %q", raw)
	}
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if rest, ok := strings.CutPrefix(host, "["); ok {
		inside, port, closed := strings.Cut(rest, "]")
		if !closed || port != "" && (port[0] != ':' || !digits(port[1:])) {
			return "", fmt.Errorf("host is no address in brackets: %q", raw)
		}
		host = inside
	} else if name, port, ok := strings.Cut(host, ":"); ok && name != "" && digits(port) {
		host = name
	}
	if host = strings.ToLower(strings.TrimRight(host, ".")); host == "" {
		return "", errors.New("host is empty")
	}
	return host, nil
}

// hostExecutable is host_executable(name, paths): rules for the bare name of a program hold
// for an absolute path only if it is one of these.
func (c *invocation) hostExecutable() {
	var name string
	var list *starlark.List
	if !c.unpack("name", &name, "paths", &list) {
		return
	}
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		c.fail("name", obstat.CodeBadValue, "", "name should be the bare name of a program, not %q", name)
	}
	out := []string{}
	for v := range list.Elements() {
		p, isText := starlark.AsString(v)
		switch {
		case !isText:
			c.fail("paths", obstat.CodeWrongType, "", "a path should be a string, not %s", v.Type())
		case !path.IsAbs(p) || path.Base(p) != name:
			c.fail("paths", obstat.CodeBadValue, "", "a path should be absolute and end in %q, unlike %q", name, p)
		default:
			out = append(out, path.Clean(p))
		}
	}
	if c.bad {
		return
	}
	if c.params.Hosts == nil {
		c.params.Hosts = map[string][]string{}
	}
	c.params.Hosts[name] = out
}

// examples tries the commands that rules have as examples.
func (s *script) examples() {
	for _, ex := range s.tests {
		for _, list := range []struct {
			name     string
			commands [][]string
			want     bool
		}{{"not_match", ex.without, false}, {"match", ex.match, true}} {
			for _, words := range list.commands {
				if ex.rule.matches(words, s.params.Hosts) == list.want {
					continue
				}
				does := map[bool]string{true: "does not match", false: "matches"}[list.want]
				e := s.Fail(nil, obstat.CodeConflict, "", "the rule %s the command %s, which is one of its examples in %s",
					does, joined(words), list.name)
				e.Pos = ex.pos
			}
		}
	}
}

// matches tells whether a rule is about a command, by itself.
func (p *prefixRule) matches(words []string, hosts map[string][]string) bool {
	if len(words) < len(p.pattern) {
		return false
	}
	first := words[0]
	if name, ok := byName("", first, hosts); ok && isPath(first) && !slices.Contains(p.pattern[0], first) {
		first = name
	}
	for i, alts := range p.pattern[1:] {
		if !slices.Contains(alts, words[i+1]) {
			return false
		}
	}
	return slices.Contains(p.pattern[0], first)
}

// isPath tells whether a program is given by a path.
func isPath(program string) bool { return strings.Contains(program, "/") }

// byName returns the bare name of a program that is given by a path, if rules for that name
// hold for it.
func byName(dir, program string, hosts map[string][]string) (string, bool) {
	if !path.IsAbs(program) {
		program = path.Join(dir, program)
	}
	at := path.Clean(program)
	name := path.Base(at)
	listed, limited := hosts[name]
	return name, !limited || slices.Contains(listed, at)
}
