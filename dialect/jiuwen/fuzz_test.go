package jiuwen

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
)

// FuzzLoad: no text makes loading or deciding panic, every problem has a place
// in its file, and what is accepted compiles.
func FuzzLoad(f *testing.F) {
	f.Add(commented, "rules: []", `{"command":"ls"}`)
	f.Add(strictBash, string(builtinYAML[:2000]), `{"command":"rm -rf /","workdir":5}`)
	f.Add("permissions: {tools: {bash: {'*': ask, patterns: {'git *': allow, '{}': deny}}}}", "", `{"url":"http://[::1]:x/","path":"///a/../b"}`)
	f.Add("permissions: {schema: v4.2, version: 4.2, owner_scopes: {web: {u: {tools: {bash: {patterns: {a: b}}}}}}}", "- {id: 1}", `5`)
	f.Add("permissions:\n  schema: tiered_policy\n  approval_overrides: [{source: cli_add_dir, tools: [bash], pattern: 're:.*/a\\ b.*', action: allow}]", "rules: 5", `{"command":["a",1.5e300,{"b":null}]}`)
	f.Fuzz(func(t *testing.T, conf, builtin, input string) {
		files := []dialect.File{{Name: "config.yaml", Data: []byte(conf)}}
		if builtin != "" {
			files = append(files, dialect.File{Name: "builtin_rules.yaml", Data: []byte(builtin)})
		}
		l, err := dialect.Load(Dialect{}, &dialect.Input{Files: files})
		if err != nil {
			return
		}
		for _, w := range l.Warnings {
			if w.Pos.IsValid() && (w.Pos.Line < 1 || w.Pos.Col < 1) {
				t.Errorf("a problem without a place: %v", w)
			}
		}
		for _, tool := range []string{"bash", "read_file", "x"} {
			for _, mode := range []obstat.Mode{ModeGlobal, ModeOwner, ModeAvatar} {
				call := &obstat.Call{Tool: tool, Input: json.RawMessage(input), Dir: "/srv/ws", Roots: []string{"/srv/ws"}, Mode: mode, User: "u", Channel: "web"}
				d, trace := l.Policy.Explain(call, &obstat.Snapshot{HomeDir: "/home/u"})
				for _, fault := range d.Faults {
					if strings.HasPrefix(fault.Msg, "deciding failed") {
						t.Errorf("%s: %s", tool, fault.Msg)
					}
				}
				_ = Dialect{}.Matched(&d, trace)
				_ = l.Offers(call, nil, &d)
			}
		}
	})
}

// FuzzApprove: what is approved is stored so that it can be read back, changes
// no comment, and is stored once.
func FuzzApprove(f *testing.F) {
	f.Add(commented, "git status")
	f.Add("permissions: {schema: tiered_policy}", "rm *.txt # a: b\n'\"")
	f.Add("", "re:.*")
	f.Add("permissions:\n  schema: tiered_policy\n  approval_overrides: # none yet\n", "\tx: [y]")
	f.Fuzz(func(t *testing.T, src, cmd string) {
		cmd = pytext.Strip(cmd)
		if cmd == "" || !utf8.ValidString(cmd) || strings.ContainsRune(cmd, 0) {
			return
		}
		if _, err := Section([]byte(src)); err != nil {
			return
		}
		offer := Override("bash", exactPattern(cmd))
		out, err := (Dialect{}).AddRule(&dialect.File{Data: []byte(src)}, &offer)
		if err != nil {
			return
		}
		sec, err := Section(out)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		list := sec.Get(listOverrides)
		rule := ruleConfig{category: shellTools, pattern: text(list.Elems[len(list.Elems)-1].Get("pattern"))}
		if _, pat := rule.subject(); !matches(pat, cmd) {
			t.Errorf("%q is stored as %q", cmd, rule.pattern)
		}
		again, err := (Dialect{}).AddRule(&dialect.File{Data: out}, &offer)
		if err != nil || string(again) != string(out) {
			t.Errorf("stored twice: %v\n%s", err, again)
		}
	})
}

// naive is a wildcard without the oddity of a final " *", tried character by
// character.
func naive(p, s []rune) bool {
	if len(p) == 0 {
		return len(s) == 0
	}
	stands := len(s) > 0 && s[0] < 128 && strings.ContainsRune("-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._/:\"'", s[0])
	switch p[0] {
	case '*':
		return naive(p[1:], s) || stands && naive(p, s[1:])
	case '?':
		return stands && naive(p[1:], s[1:])
	}
	return len(s) > 0 && s[0] == p[0] && naive(p[1:], s[1:])
}

func FuzzWildcard(f *testing.F) {
	f.Add("git * status", "git -C x status")
	f.Add("ls -?", `ls -\`)
	f.Add("a.b[c]{1}|$^", "a.b[c]{1}|$^")
	f.Add("*é*", "aéb")
	f.Fuzz(func(t *testing.T, p, s string) {
		if p == "" || s == "" || len(p) > 12 || len(s) > 20 || strings.HasSuffix(slashes(p), " *") || !utf8.ValidString(p) || !utf8.ValidString(s) || strings.HasSuffix(s, "\n") {
			return
		}
		want := naive([]rune(slashes(p)), []rune(slashes(s)))
		if got := matches(search(wildcard(p, true)), s); got != want {
			t.Errorf("%q on %q: %v, want %v", p, s, got, want)
		}
	})
}

// FuzzUnquoted: nothing that a shell would take for an operator is left out.
func FuzzUnquoted(f *testing.F) {
	for _, s := range []string{`echo "a;b"`, `echo 'a'; b`, `a \; b`, "echo \"$(ls)\"", `echo "\"; ls"`, `'`, `"\`, `a\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cmd string) {
		out := unquoted(cmd)
		if len(out) > len(cmd) {
			t.Fatalf("%q became %q", cmd, out)
		}
		if plain := !strings.ContainsAny(cmd, "'\"\\"); plain && out != cmd {
			t.Errorf("%q became %q", cmd, out)
		}
	})
}

// FuzzPyRepr: printing an argument never fails, whatever it is.
func FuzzPyRepr(f *testing.F) {
	f.Add(`{"a":[1,1.0,1e22,-0.00001,true,null,"it's \"x\"\n\u0007é"]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		args, err := arguments(&obstat.Facts{Call: &obstat.Call{Input: json.RawMessage(raw)}})
		if err != nil {
			return
		}
		if got := pytext.Str(args); args.Is(tree.Object) && !strings.HasPrefix(got, "{") {
			t.Errorf("%s is printed as %s", raw, got)
		}
	})
}
