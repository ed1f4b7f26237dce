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
	"github.com/obstat/obstat/pattern"
)

// The functions that rules are made with.
const (
	fnPrefix  = "prefix_rule"
	fnNetwork = "network_rule"
	fnHost    = "host_executable"
)

// What running a file may take.
const (
	maxRulesFile = 256 << 10 // bytes of the file
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
	call    *syntax.CallExpr
	match   [][]string
	without [][]string
}

// file runs a file of rules. A call that is wrong is reported and the file goes on; what
// Starlark itself refuses ends it.
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
	fns := starlark.StringDict{fnPrefix: starlark.NewBuiltin(fnPrefix, s.prefixRule), fnNetwork: starlark.NewBuiltin(fnNetwork, s.networkRule), fnHost: starlark.NewBuiltin(fnHost, s.hostExecutable)}
	prog, err := starlark.FileProgram(parsed, fns.Has)
	if err != nil {
		l.starlark(err)
		return
	}
	thread := &starlark.Thread{Name: f.Name, Print: func(*starlark.Thread, string) {}}
	thread.SetMaxExecutionSteps(maxSteps)
	if grows {
		bound(thread)
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
func bound(thread *starlark.Thread) {
	const every = 4
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	start := mem.TotalAlloc
	thread.SetMaxExecutionSteps(every)
	thread.OnMaxSteps = func(t *starlark.Thread) {
		runtime.ReadMemStats(&mem)
		switch {
		case t.Steps >= maxSteps:
			t.Cancel("too many steps")
		case mem.TotalAlloc-start > maxMemory:
			t.Cancel("too much memory")
		}
		t.SetMaxExecutionSteps(t.Steps + every)
	}
}

// starlark reports what the language refuses, where it says.
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
		if strings.Contains(run.Msg, "too many steps") || strings.Contains(run.Msg, "too much memory") {
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

// call returns the call that a function of ours is run by, and where it starts.
func (s *script) call(t *starlark.Thread) (*syntax.CallExpr, obstat.Pos) {
	at := t.CallFrame(1).Pos
	if c := s.calls[syntax.MakePosition(nil, at.Line, at.Col)]; c != nil {
		return c, place(s.file, syntax.Start(c))
	}
	return nil, place(s.file, at)
}

// fail reports a problem of the call, at the argument of that name if it is written there.
func (s *script) fail(t *starlark.Thread, arg string, code obstat.Code, hint, format string, args ...any) {
	c, pos := s.call(t)
	e := s.Fail(nil, code, hint, format, args...)
	e.Pos = pos
	if c == nil {
		return
	}
	for _, a := range c.Args {
		if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			if name, ok := b.X.(*syntax.Ident); ok && name.Name == arg {
				e.Pos = place(s.file, syntax.Start(b.Y))
			}
		}
	}
}

// unpack reads the arguments of a call; a mistake is reported, and false.
func (s *script) unpack(t *starlark.Thread, fn string, args starlark.Tuple, kwargs []starlark.Tuple, pairs ...any) bool {
	if err := starlark.UnpackArgs(fn, args, kwargs, pairs...); err != nil {
		var known []string
		for i := 0; i < len(pairs); i += 2 {
			known = append(known, strings.TrimRight(pairs[i].(string), "?"))
		}
		bad, hint, code := "", "", obstat.CodeWrongType
		for _, kv := range kwargs {
			if name := string(kv[0].(starlark.String)); !slices.Contains(known, name) {
				bad, hint, code = name, dialect.Near(name, known...), obstat.CodeUnknownKey
			}
		}
		for _, name := range known {
			if strings.Contains(err.Error(), `for parameter "`+name+`"`) {
				bad = name
			}
		}
		if strings.Contains(err.Error(), "missing argument") {
			code = obstat.CodeMissing
		}
		s.fail(t, bad, code, hint, "%v", err)
		return false
	}
	return true
}

// why returns the text of a justification, which must say something.
func (s *script) why(t *starlark.Thread, v starlark.Value) (string, bool) {
	text, ok := starlark.AsString(v)
	switch {
	case v == nil || v == starlark.None:
		return "", true
	case !ok:
		s.fail(t, "justification", obstat.CodeWrongType, "", "justification should be a string, not %s", v.Type())
	case strings.TrimSpace(text) == "":
		s.fail(t, "justification", obstat.CodeBadValue, "", "justification says nothing")
	default:
		return text, true
	}
	return "", false
}

// decision returns the verdict of a decision.
func (s *script) decision(t *starlark.Thread, v starlark.Value, network bool) (obstat.Verdict, bool) {
	word, ok := starlark.AsString(v)
	if !ok {
		s.fail(t, "decision", obstat.CodeWrongType, "", "decision should be a string, not %s", v.Type())
		return obstat.Deny, false
	}
	if network && word == "deny" {
		return obstat.Deny, true
	}
	verdict, known := decisions[word]
	if !known {
		s.fail(t, "decision", obstat.CodeBadValue, dialect.Near(word, slices.Sorted(maps.Keys(decisions))...), "there is no decision %q; there are allow, prompt and forbidden", word)
	}
	return verdict, known
}

// prefixRule is prefix_rule(pattern, decision?, match?, not_match?, justification?).
func (s *script) prefixRule(t *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var words, match, without *starlark.List
	var decision, justification starlark.Value
	if !s.unpack(t, fn.Name(), args, kwargs, "pattern", &words, "decision?", &decision, "match??", &match, "not_match??", &without, "justification?", &justification) {
		return starlark.None, nil
	}
	p := &prefixRule{verdict: obstat.Allow}
	ok := true
	if decision != nil && decision != starlark.None {
		p.verdict, ok = s.decision(t, decision, false)
	}
	var said bool
	if p.justification, said = s.why(t, justification); !said {
		ok = false
	}
	if words.Len() == 0 {
		s.fail(t, "pattern", obstat.CodeMissing, "", "the pattern has no word")
		ok = false
	}
	for v := range words.Elements() {
		alts, err := texts(v)
		if err != nil || len(alts) == 0 {
			s.fail(t, "pattern", obstat.CodeWrongType, "", "a word of the pattern should be a string or a list of strings, not %s", v.Type())
			ok = false
		}
		p.pattern = append(p.pattern, alts)
	}
	ex := examples{rule: p}
	ex.call, _ = s.call(t)
	for _, list := range []struct {
		name string
		from *starlark.List
		to   *[][]string
	}{{"match", match, &ex.match}, {"not_match", without, &ex.without}} {
		if list.from == nil {
			continue
		}
		for v := range list.from.Elements() {
			command, err := example(v)
			if err != nil {
				s.fail(t, list.name, obstat.CodeBadValue, "", "%s: %v", list.name, err)
				ok = false
			}
			*list.to = append(*list.to, command)
		}
	}
	if ok {
		_, pos := s.call(t)
		s.add(p, s.file.Layer, pos)
		s.tests = append(s.tests, ex)
	}
	return starlark.None, nil
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
	if line, ok := starlark.AsString(v); ok {
		words, err := split(line)
		if err == nil && len(words) == 0 {
			err = errors.New("the example is empty")
		}
		return words, err
	}
	words, err := texts(v)
	if err != nil {
		return nil, fmt.Errorf("an example should be a string or a list of strings, not %s", v.Type())
	}
	if len(words) == 0 {
		return nil, errors.New("the example is empty")
	}
	return words, nil
}

// protocols are those that a network rule may name.
var protocols = []string{"http", "https", "https_connect", "http-connect", "socks5_tcp", "socks5_udp"}

// networkRule is network_rule(host, protocol, decision, justification?). As in Codex, the
// protocol does not change what the rule is about.
func (s *script) networkRule(t *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var raw, protocol string
	var decision, justification starlark.Value
	if !s.unpack(t, fn.Name(), args, kwargs, "host", &raw, "protocol", &protocol, "decision", &decision, "justification?", &justification) {
		return starlark.None, nil
	}
	verdict, ok := s.decision(t, decision, true)
	reason, said := s.why(t, justification)
	if !slices.Contains(protocols, protocol) {
		s.fail(t, "protocol", obstat.CodeBadValue, dialect.Near(protocol, protocols...), "there is no protocol %q; there are http, https, socks5_tcp and socks5_udp", protocol)
		ok = false
	}
	host, err := hostName(raw)
	if err != nil {
		s.fail(t, "host", obstat.CodeBadValue, "", "%v", err)
	}
	if ok && said && err == nil {
		_, pos := s.call(t)
		word := decisionOf(verdict)
		if verdict == obstat.Deny {
			word = "deny"
		}
		s.network(obstat.Rule{Tool: obstat.Is(toolFetch), Field: fieldHost, Pattern: obstat.Text{Flavour: pattern.Exact, Text: host}, Verdict: verdict, Reason: reason,
			Source: fmt.Sprintf("%s(host=%s, protocol=%s, decision=%s)", fnNetwork, quoted(raw), quoted(protocol), quoted(word)), Layer: s.file.Layer, Pos: pos})
	}
	return starlark.None, nil
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
func (s *script) hostExecutable(t *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var list *starlark.List
	if !s.unpack(t, fn.Name(), args, kwargs, "name", &name, "paths", &list) {
		return starlark.None, nil
	}
	ok := true
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		s.fail(t, "name", obstat.CodeBadValue, "", "name should be the bare name of a program, not %q", name)
		ok = false
	}
	out := []string{}
	for v := range list.Elements() {
		p, isText := starlark.AsString(v)
		switch {
		case !isText:
			s.fail(t, "paths", obstat.CodeWrongType, "", "a path should be a string, not %s", v.Type())
			ok = false
		case !path.IsAbs(p) || path.Base(p) != name:
			s.fail(t, "paths", obstat.CodeBadValue, "", "a path should be absolute and end in %q, unlike %q", name, p)
			ok = false
		default:
			out = append(out, path.Clean(p))
		}
	}
	if ok {
		if s.params.Hosts == nil {
			s.params.Hosts = map[string][]string{}
		}
		s.params.Hosts[name] = out
	}
	return starlark.None, nil
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
				e := s.Fail(nil, obstat.CodeConflict, "", "the rule %s the command %s, which is one of its examples in %s", map[bool]string{true: "does not match", false: "matches"}[list.want], joined(words), list.name)
				if ex.call != nil {
					e.Pos = place(s.file, syntax.Start(ex.call))
				}
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
