package effect

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// labValue is a word of the fixture for each role, the first that fits a person's use of it.
var labValue = map[role]string{
	roleText: "x", roleRead: "a.txt", rolePeek: "a.txt", roleList: "a.txt", roleWrite: "out.txt", roleDelete: "b.txt", roleDir: "sub", roleURL: "http://127.0.0.1:9/x",
	roleHost: "127.0.0.1", roleFrom: "a.txt", roleTo: "out.txt", roleRun: "./evil", roleRunMore: "./evil", roleExec: "./evil ';'", roleShell: "./evil", roleRest: "./evil",
	roleRemote: "./evil", roleParallel: "./evil", roleCode: "1", roleScript: "src/x.sh", roleModule: "json.tool", roleEnv: "A=1", roleSed: "s/a/b/", roleAwk: "'{print}'",
	roleSQL: "'select 1'", roleData: "x", roleForm: "a=b", roleMethod: "GET", roleGitConfig: "core.pager=cat", roleSSHOption: "BatchMode=yes", roleName: "'*.txt'",
	roleMaybe: "out.txt", roleTarFile: "t.tar", roleSocat: "STDIN", roleRev: "HEAD", roleRepo: ".", roleMark: "{}", roleAssign: "A=1", roleLookup: "localhost", roleVia: "localhost",
	roleSetVar: "A", roleSetting: "a", roleGitURL: ".", roleUnless: "x", roleInto: "sub", roleTracked: "HEAD", roleBranch: "HEAD", roleUndone: "a.txt", roleRefspec: "main", roleUnset: "A",
}

// labLines returns command lines for a program: alone, on operands, with each flag of its table
// alone, bundled and in pairs. Values that the table calls text are also tried as a program and
// as a file, which shows flags that run or write what they are given.
func labLines(name string, most int) []string {
	s := builtin.lookup(name)
	if s == nil {
		return nil
	}
	lines := labSpec(name, s)
	for i := range s.subs {
		u := &s.subs[i]
		if strings.ContainsAny(u.names, "*~") {
			continue
		}
		var words []string
		for _, w := range strings.Fields(u.names) {
			first, _, _ := strings.Cut(w, "|")
			words = append(words, first)
		}
		lines = append(lines, labSpec(name+" "+strings.Join(words, " "), s.ready(u))...)
	}
	slices.Sort(lines)
	return spread(slices.Compact(lines), most)
}

// spread picks at most n of a list: always the same ones, from everywhere in it.
func spread(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	slices.SortFunc(list, func(a, b string) int { return int(labHash(a)) - int(labHash(b)) })
	return list[:n]
}

func labHash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32() >> 1
}

func labSpec(base string, s *spec) []string {
	operands := labOperands(s)
	out := []string{base, base + " a.txt", base + " a.txt b.txt", base + " sub", base + " out.txt", base + operands}
	flags := labFlags(s)
	for _, f := range flags {
		out = append(out, base+" "+f+operands, base+" "+f, base+" "+f+" a.txt b.txt")
	}
	var letters []string
	for _, f := range flags {
		if len(f) == 2 && f[0] == '-' && f[1] != '-' {
			letters = append(letters, f[1:])
		}
	}
	for i := 0; i+1 < len(letters); i++ { // bundled: -ab, and with the letters in between
		out = append(out, fmt.Sprintf("%s -%s%s%s", base, letters[i], letters[i+1], operands), fmt.Sprintf("%s -%s%s a.txt", base, letters[i], letters[(i*7+3)%len(letters)]))
	}
	for i := 0; i+1 < len(flags); i++ {
		out = append(out, base+" "+flags[i]+" "+flags[(i*5+2)%len(flags)]+operands)
	}
	return out
}

func labOperands(s *spec) string {
	var b strings.Builder
	for _, o := range s.args {
		b.WriteString(" " + labValue[o.role])
		if o.many && o.role == roleRead {
			b.WriteString(" b.txt")
		}
	}
	return b.String()
}

// labFlags writes each flag of a table as a person would.
func labFlags(s *spec) (out []string) {
	add := func(name string, f *flag, sep string) {
		if f.arity != required {
			out = append(out, name)
		}
		if f.arity == alone {
			return
		}
		values := []string{labValue[f.role]}
		if f.role == roleText {
			values = append(values, "./evil", "made.txt", "1")
		}
		for _, v := range values {
			word := name + sep + v
			if f.pair {
				word = name + " x " + v
			}
			out = append(out, word)
		}
	}
	for ch := byte('!'); ch < 127; ch++ {
		if f := s.shortFlag(ch); f != nil {
			sep := " "
			if f.arity == optional {
				sep = ""
			}
			add("-"+string(rune(ch)), f, sep)
		}
	}
	for i := range s.long.list {
		f := &s.flags[s.long.list[i].at]
		if name := s.long.list[i].name; name != "" && len(name) > 1 {
			dash, sep := "--", "="
			if f.dash || s.style&styleDash != 0 {
				dash, sep = "-", " "
			}
			add(dash+name, f, sep)
		}
	}
	return out
}
