package paths

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type world struct {
	home  string
	links map[string]string
}

func (w world) Home(user string) (string, bool) {
	if user == "" {
		return w.home, w.home != ""
	}
	return "/home/" + user, true
}
func (w world) Readlink(p string) (string, bool) { t, ok := w.links[p]; return t, ok }
func (w world) IsDir(string) bool                { return false }

func TestResolve(t *testing.T) {
	w := world{home: "/home/u", links: map[string]string{
		"/w/git":  ".git",
		"/w/out":  "/etc",
		"/w/loop": "loop",
		"/w/up":   "../x/y",
	}}
	tests := []struct{ dir, in, abs, real, why string }{
		{"/w", "a", "/w/a", "/w/a", ""},
		{"/w", "./a//b/../c", "/w/a/c", "/w/a/c", ""},
		{"/w", "../../..", "/", "/", ""},
		{"/w", "~", "/home/u", "/home/u", ""},
		{"/w", "~/a", "/home/u/a", "/home/u/a", ""},
		{"/w", "~bob/a", "/home/bob/a", "/home/bob/a", ""},
		{"/w", "$HOME/a", "/home/u/a", "/home/u/a", ""},
		{"/w", "${HOME}", "/home/u", "/home/u", ""},
		{"/w", "$HOMER/a", "/w/$HOMER/a", "/w/$HOMER/a", ""},
		{"/w", "a~b", "/w/a~b", "/w/a~b", ""},
		{"/w", "~+/a", "/w/a", "/w/a", ""},
		{"/w", "//etc//passwd", "/etc/passwd", "/etc/passwd", ""},
		{"/w", "/etc/./passwd/", "/etc/passwd", "/etc/passwd", ""},
		{"/w", "git/config", "/w/git/config", "/w/.git/config", ""},
		{"/w", "out/passwd", "/w/out/passwd", "/etc/passwd", ""},
		{"/w", "out/../passwd", "/w/passwd", "/passwd", ""},
		{"/w", "up/z", "/w/up/z", "/x/y/z", ""},
		{"/w", "loop/z", "/w/loop/z", "", "too many symbolic links"},
		{"/w", "/proc/self/root/etc/shadow", "/etc/shadow", "/etc/shadow", ""},
		{"/w", "/proc/self/root", "/", "/", ""},
		{"/w", "/proc/self/root/proc/self/root/etc", "/etc", "/etc", ""},
		{"/w", "/proc/self/cwd/../etc", "/proc/self/etc", "/proc/self/etc", ""},
		{"/w", "/proc/self/cwd/x", "/w/x", "/w/x", ""},
		{"/w", "/proc/thread-self/root/etc", "/etc", "/etc", ""},
		{"/w", "/proc/self/task/12/root/etc", "/etc", "/etc", ""},
		{"/w", "/proc/1/root/etc", "/etc", "/etc", "the root directory of another process is not known"},
		{"/w", "/proc/7/cwd", "/proc/7/cwd", "/proc/7/cwd", "the working directory of the process is not known"},
		{"/w", "/proc/self/fd/3", "/proc/self/fd/3", "/proc/self/fd/3", "what the link of the process stands for is not known"},
		{"/w", "/dev/fd/3", "/dev/fd/3", "/dev/fd/3", "what the descriptor stands for is not known"},
		{"/w", "/proc/cpuinfo", "/proc/cpuinfo", "/proc/cpuinfo", ""},
		{"/w", "", "", "", "empty path"},
		{"/w", "a\x00b", "", "", "NUL byte in the path"},
		{"", "a", "", "", "the working directory is not known"},
		{"", "/a", "/a", "/a", ""},
		{"/w", `C:\Users\x\..\y`, "C:/Users/y", "C:/Users/y", ""},
		{"/w", `c:/x`, "C:/x", "C:/x", ""},
		{"/w", `\\srv\share\x`, "//srv/share/x", "//srv/share/x", ""},
		{"/w", `\\?\C:\x`, "C:/x", "C:/x", ""},
		{"/", "a", "/a", "/a", ""},
	}
	for _, tt := range tests {
		got := Resolver{FS: w, Dir: tt.dir}.Resolve(tt.in)
		if got.Abs != tt.abs || got.Real != tt.real || got.Why != tt.why {
			t.Errorf("in %q: Resolve(%q) = %+v, want abs %q real %q why %q", tt.dir, tt.in, got, tt.abs, tt.real, tt.why)
		}
	}
}

// Paths that lead through the kernel's doors again and again, or are longer than any path, end.
func TestResolveEnds(t *testing.T) {
	door := strings.Repeat("/proc/self/root", 1<<16)
	for _, tt := range []struct{ dir, in string }{
		{"/w", door}, {"/w", door + "/etc/shadow"}, {"/w", door[:4000] + "/etc/shadow"}, {"/proc/self/cwd", "/proc/self/cwd/x"}, {"/proc/self/cwd", "x"},
		{"/w", strings.Repeat("a/", 1<<19)}, {"/w", strings.Repeat("../", 1<<18) + "etc/passwd"},
	} {
		got := Resolver{FS: world{home: "/h"}, Dir: tt.dir}.Resolve(tt.in)
		if got.Known() {
			t.Errorf("in %q: Resolve(%.40q...) = %.80q, which is no place that can be known", tt.dir, tt.in, got.Abs)
		}
	}
	if got := (Resolver{Dir: "/w"}).Resolve(strings.Repeat("../", 1<<18) + "etc/passwd"); got.Abs != "/etc/passwd" {
		t.Errorf("a very long path leads to %.40q", got.Abs)
	}
}

func TestResolveWithoutWorld(t *testing.T) {
	for _, p := range []string{"~", "~/x", "~bob", "$HOME/x", "x", "/proc/self/cwd/x"} {
		if got := (Resolver{}).Resolve(p); got.Known() {
			t.Errorf("Resolve(%q) without a world = %+v, want an unknown place", p, got)
		}
	}
}

func TestInside(t *testing.T) {
	tests := []struct {
		root, p string
		want    bool
	}{
		{"/", "/", true}, {"/", "/etc", true}, {"/w", "/w", true}, {"/w", "/w/a", true}, {"/w/", "/w/a", true},
		{"/w", "/w2", false}, {"/w", "/", false}, {"/w", "/w/../etc", false}, {"/w/a/..", "/w/b", true},
		{"", "/w", false}, {"/w", "", false}, {"w", "w/a", false}, {"/", "a", false},
		{"C:/x", "C:/x/y", true}, {"C:/x", "C:/xy", false}, {"C:/x", "/x", false}, {"C:/", "C:/x", true},
	}
	for _, tt := range tests {
		if got := Inside(tt.root, tt.p); got != tt.want {
			t.Errorf("Inside(%q, %q) = %v, want %v", tt.root, tt.p, got, tt.want)
		}
	}
}

func TestSensitive(t *testing.T) {
	tests := []struct {
		path, class string
		secret      bool
	}{
		{"/home/u/.bashrc", "shell-startup", false},
		{"/home/u/.BASHRC", "shell-startup", false},
		{"/home/u/.ssh/id_rsa", "ssh-key", true},
		{"/home/u/.ssh/config", "ssh", false},
		{"/home/u/.ssh", "ssh", false},
		{"/home/u/.ssh/id_ed25519.pub", "ssh", false},
		{"/home/u/.ssh/id_ed25519.pub.backup", "ssh", false},
		{"/home/u/.gnupg/secring.gpg", "gnupg", true},
		{"/w/.env", "env-file", true},
		{"/w/.env.production", "env-file", true},
		{"/w/.env.example", "", false},
		{"/w/.git/hooks/.env.example", "git", false},
		{"/w/.git/hooks/pre-commit", "git", false},
		{"/w/.github/workflows/ci.yml", "ci", false},
		{"/w/sub/.claude/settings.json", "agent-settings", false},
		{"/w/.vscode/tasks.json", "editor", false},
		{"/etc/shadow", "account", true},
		{"/etc/passwd", "account", false},
		{"/w/etc/passwd", "", false},
		{"/dev/sda1", "device", true},
		{"/dev/null", "", false},
		{"/dev/stdout", "", false},
		{"/dev/tty", "", false},
		{"/w/server.key", "key", true},
		{"innocent-key", "key", true},
		{"/w/README.md", "", false},
		{"/w/src/environment.ts", "", false},
		{"/w/monkey", "", false},
		{".env", "env-file", true},
		{"/proc/1/environ", "kernel", true},
		{"/home/u/.aws/credentials", "cloud", true},
		{"/Users/u/Library/Keychains/login.keychain-db", "keychain", true},
		{"", "", false},
		{"/", "", false},
	}
	for _, tt := range tests {
		e, ok := Sensitive(tt.path)
		if e.Class != tt.class || ok != (tt.class != "") || e.Secret != tt.secret {
			t.Errorf("Lookup(%q) = %q secret=%v, want %q secret=%v", tt.path, e.Class, e.Secret, tt.class, tt.secret)
		}
	}
}

func TestSensitiveGlob(t *testing.T) {
	tests := map[string]bool{
		"/w/.env?": true, "/w/.e*": true, "/w/.*": true, "/w/*.pem": true, "/w/*": false, "/w/*.ts": false,
		"/home/u/.ssh/id_*": true, "/home/u/.s[s]h/id_rsa": true, "/et[c]/shadow": true, "/w/src/*.go": false,
		"/home/u/.ssh/*": true, "/w/*.*": false, "/w/id_rs?": true, "/home/*/.netrc": true,
	}
	for p, want := range tests {
		if _, got := SensitiveGlob(p); got != want {
			t.Errorf("Glob(%q) = %v, want %v", p, got, want)
		}
	}
}

func TestGlobFindsSecrets(t *testing.T) {
	for _, p := range []string{"/w/.*", "/home/u/.[a-z]*", "/w/.?nv"} {
		if e, _ := SensitiveGlob(p); !e.Secret {
			t.Errorf("Glob(%q) = %q, which is not a secret", p, e.Class)
		}
	}
}

func TestBelow(t *testing.T) {
	for p, want := range map[string]bool{
		"/home/u/.ssh": true, "/home/u/.aws": true, "/home/u/.config": true, "/etc": true, "/": true, "/proc": true, "/proc/1": true, "/proc/1/task": false, "~/.ssh": true,
		"/w": false, "/w/src": false, "/w/config": false, "/home/u": false, "src": false, "etc": false,
	} {
		if _, got := SensitiveBelow(p); got != want {
			t.Errorf("Below(%q) = %v, want %v", p, got, want)
		}
	}
}

func TestParseTable(t *testing.T) {
	for bad, want := range map[string]string{
		"# x\nx both":                        "line 2: want class, access, pattern and reason",
		"x maybe y z":                        `line 1: access "maybe" is not secret, write, both or not`,
		"x both " + strings.Repeat("y", 251): "line 1: a pattern of more than 250 bytes",
	} {
		if _, err := parseTable(bad); err == nil || err.Error() != want {
			t.Errorf("parseTable(%q): %v, want %s", bad, err, want)
		}
	}
}

func TestBuiltInTable(t *testing.T) {
	tab, err := parseTable(sensitiveText)
	if err != nil {
		t.Fatal(err)
	}
	if len(tab.rows) < 300 {
		t.Errorf("%d entries, want at least 300", len(tab.rows))
	}
	for i := range tab.rows {
		if e := tab.rows[i].entry(); e.Reason == "" {
			t.Errorf("%s %s has no reason", e.Class, e.Pattern)
		}
	}
}

// A clean path stays as it is, and resolving twice changes nothing.
func TestResolveProperties(t *testing.T) {
	seg := rapid.SampledFrom([]string{"a", "..", ".", "", "b c", "~", "proc", "self", "root", "cwd", "link", "C:", `\`})
	w := world{home: "/home/u", links: map[string]string{"/w/link": "../a", "/a/link": "/w/link"}}
	rapid.Check(t, func(t *rapid.T) {
		p := strings.Join(rapid.SliceOfN(seg, 1, 12).Draw(t, "segs"), "/")
		r := Resolver{FS: w, Dir: "/w"}
		got := r.Resolve(p)
		if got.Abs == "" {
			return
		}
		if !isClean(strings.TrimPrefix(got.Abs, "/")) && got.Abs != "/" && got.Abs[0] == '/' && got.Abs[1] != '/' {
			t.Fatalf("Resolve(%q).Abs = %q is not clean", p, got.Abs)
		}
		if got.Why != "" {
			return
		}
		if again := r.Literal(got.Real); again.Real != got.Real {
			t.Fatalf("Resolve(%q).Real = %q, which leads on to %q", p, got.Real, again.Real)
		}
	})
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"", "~", "/proc/self/root/..", `\\?\`, "a\x00", "/proc/self/task", "//", "C:", "$HOME"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		r := Resolver{FS: world{home: "/h"}, Dir: "/w"}
		got := r.Resolve(p)
		Sensitive(got.Abs)
		SensitiveGlob(p)
		if got.Abs != "" && Inside("/w", got.Abs) && strings.Contains(got.Abs, "/../") {
			t.Errorf("Resolve(%q) = %+v", p, got)
		}
	})
}

func ExampleResolver_Resolve() {
	r := Resolver{Dir: "/srv/app"}
	fmt.Println(r.Resolve("src/../../etc/passwd").Abs, Inside("/srv/app", r.Resolve("src/../../etc/passwd").Abs))
	// Output: /srv/etc/passwd false
}

func ExampleSensitive() {
	entry, ok := Sensitive("/home/u/.ssh/authorized_keys")
	fmt.Println(entry.Class, entry.Reason, ok)
	// Output: ssh decides who may log in and what ssh runs true
}

func BenchmarkGlob(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		SensitiveGlob("/home/u/project/src/*.ts")
	}
}

func BenchmarkLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Sensitive("/home/u/project/src/index.ts")
	}
}

// What the indices find is what looking at every row finds.
func TestIndexedIsLinear(t *testing.T) {
	tab := builtIn()
	var segs []string
	for i := range tab.rows {
		for seg := range strings.SplitSeq(tab.rows[i].pat, "/") {
			segs = append(segs, seg, strings.ReplaceAll(seg, "*", "x"))
		}
	}
	segs = append(segs, "home", "src", "*", "?", "*.*", ".*", "[a-z]*", "*.ts", "**", "[", "a", "..", "")
	seg := rapid.Custom(func(t *rapid.T) string {
		s := rapid.SampledFrom(segs).Draw(t, "seg")
		if at := rapid.IntRange(0, 2*len(s)).Draw(t, "at"); at < len(s) {
			s = s[:at] + rapid.SampledFrom([]string{"*", "?", "[" + s[at:at+1] + "]"}).Draw(t, "wild") + s[at+rapid.IntRange(0, 1).Draw(t, "cut"):]
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		p := strings.Join(rapid.SliceOfN(seg, 1, 4).Draw(t, "path"), "/")
		if rapid.Bool().Draw(t, "rooted") {
			p = "/" + p
		}
		var got, want matches
		tab.glob(p, &got)
		var g globbing
		for s := range strings.SplitSeq(strings.Trim(strings.ToLower(p), "/"), "/") {
			g.segs = append(g.segs, newGlobSeg(s))
		}
		for _, s := range g.segs[:len(g.segs)-1] {
			g.anywhere = g.anywhere || !s.literal
		}
		if g.anywhere || !g.segs[len(g.segs)-1].literal {
			for i := range tab.rows {
				if r := &tab.rows[i]; g.reached(r) && !(r.is(rowDir) && g.segs[len(g.segs)-1].generic && !g.anywhere) {
					want.add(r)
				}
			}
		}
		ge, gok := got.best()
		we, wok := want.best()
		if gok != wok || ge.Secret != we.Secret || got.n != want.n {
			t.Fatalf("Glob(%q) finds %d, %+v; there are %d, %+v", p, got.n, ge, want.n, we)
		}
		got, want = matches{}, matches{}
		tab.lookup(p, &got)
		lower := strings.ToLower(strings.Trim(p, "/"))
		for end := 1; end <= len(lower); end++ {
			if end < len(lower) && lower[end] != '/' || lower[end-1] == '/' {
				continue
			}
			for i := range tab.rows {
				if r := &tab.rows[i]; (end == len(lower) || r.is(rowDir)) && r.match(lower[:end]) {
					want.add(r)
				}
			}
		}
		if got.n != want.n {
			t.Fatalf("Lookup(%q) finds %d, there are %d", p, got.n, want.n)
		}
	})
}
