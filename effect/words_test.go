package effect

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/effect/internal/word"
)

// stopping returns the flags of the knowledge base that make a program do less, by their verbs:
// `help` prints something and stops, `dry` only says what would be done, `read`, `query` and `repo` only read
// whatever the program does else.
func stopping(t *testing.T) map[string]bool {
	out := map[string]bool{}
	add := func(s *spec) {
		less := func(f *flag) bool {
			return slices.ContainsFunc(f.deeds, func(d deed) bool {
				return d.verb == doesHelp || d.verb == doesDry || d.verb == doesRead || d.verb == doesQuery || d.verb == doesRepo
			})
		}
		for ch := byte('!'); ch < 127; ch++ {
			if f := s.shortFlag(ch); f != nil && less(f) {
				out["-"+string(ch)] = true
			}
		}
		for i := range s.long.list {
			if f := &s.flags[s.long.list[i].at]; less(f) {
				out["--"+s.long.list[i].name], out["-"+s.long.list[i].name] = true, true
			}
		}
	}
	for _, name := range knownPrograms() {
		s := builtin.lookup(name)
		add(s)
		for i := range s.subs {
			add(s.ready(&s.subs[i]))
		}
	}
	return out
}

// A word more never makes a command read-only that was not, unless the word is a flag by which
// the program does less.
func TestAddedWord(t *testing.T) {
	less := stopping(t)
	if len(less) < 20 || len(less) > 500 || !less["--help"] || !less["--dry-run"] {
		t.Fatalf("%d flags that stop a program", len(less))
	}
	var cmds []string
	for _, c := range slices.Concat(corpus(t, "danger.jsonl.gz"), corpus(t, "unsafe.jsonl.gz"), corpus(t, "harmful.jsonl.gz"), corpus(t, "readonly.jsonl.gz")) {
		if !AnalyzeCommand(c, testOptions()).ReadOnly {
			cmds = append(cmds, c)
		}
	}
	words := []string{"a.txt", "x=y", "-", "--", "--zzz", "-z", "/etc/passwd", "5", "''", "@a", "+1"}
	check := func(t interface{ Errorf(string, ...any) }, c string) {
		if AnalyzeCommand(c, testOptions()).ReadOnly {
			t.Errorf("%q is read-only", c)
		}
	}
	for _, c := range cmds {
		for _, w := range words {
			check(t, c+" "+w)
		}
	}
	flags := otherFlags(less)
	rnd := rand.New(rand.NewPCG(15, 15))
	for range 20_000 {
		c, w := cmds[rnd.IntN(len(cmds))], flags[rnd.IntN(len(flags))]
		name, rest, ok := strings.Cut(c, " ")
		last, _, _ := strings.Cut(strings.TrimSpace(c[strings.LastIndexAny(c, "|;&")+1:]), " ")
		if takes(name, w) || takes(last, w) { // the next word, or else the command is an error
			continue
		}
		check(t, c+" "+w)
		if ok && builtin.lookup(name) != nil && builtin.lookup(name).style&styleBSD == 0 { // whose first word may be flags without a dash
			check(t, name+" "+w+" "+rest)
		}
	}
}

// otherFlags returns the flags of all programs but some, and but their abbreviations.
func otherFlags(less map[string]bool) []string {
	abbreviated := map[string]bool{}
	for f := range less {
		for n := 4; n < len(f) && strings.HasPrefix(f, "--"); n++ {
			abbreviated[f[:n]] = true
		}
	}
	var flags []string
	for _, name := range knownPrograms() {
		s := builtin.lookup(name)
		for i := range s.long.list {
			n := s.long.list[i].name
			if !less["--"+n] && !abbreviated["--"+n] {
				flags = append(flags, "--"+n)
			}
			if !less["-"+n] && !strings.ContainsFunc(n, func(r rune) bool { return less["-"+string(r)] }) { // else it may be a bundle
				flags = append(flags, "-"+n)
			}
		}
	}
	for ch := byte('!'); ch < 127; ch++ {
		if f := "-" + string(ch); word.IsByte(ch) && !less[f] {
			flags = append(flags, f)
		}
	}
	return flags
}

// takes reports whether a flag of a program, or of one of its subcommands, has a value.
func takes(program, flag string) bool {
	s := builtin.lookup(program)
	if s == nil {
		return false
	}
	has := func(s *spec) bool {
		f, _ := s.find(flag)
		return f != nil && f.arity == required
	}
	for i := range s.subs {
		if has(s.ready(&s.subs[i])) {
			return true
		}
	}
	return has(s)
}
