package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// TestReadFile: a file that is no regular one is not read, nor one that is too large; a missing one is told as that.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, "a"), "text")
	s := &search{Finder: new(Finder)}
	if data, err := s.readFile(filepath.Join(dir, "a")); string(data) != "text" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := s.readFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := s.readFile(dir); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a directory: %v", err)
	}
	for n, fits := range map[int64]bool{3: false, 4: true, 5: true} {
		if data, err := readAtMost(strings.NewReader("text"), n); (err == nil) != fits || fits && string(data) != "text" {
			t.Errorf("of at most %d bytes: %q, %v", n, data, err)
		}
	}
}

// TestList: the names in a directory; what is none has none.
func TestList(t *testing.T) {
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, "a"), "")
	putFile(t, filepath.Join(dir, "b", "c"), "")
	if got, err := list(dir); !slices.Equal(got, []string{"a", "b"}) || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"a", "none"} {
		if got, err := list(filepath.Join(dir, name)); len(got) != 0 || err != fs.ErrNotExist {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestPlacesByName: a directory is looked at once, however it is written, and without a repository is one of its own.
func TestPlacesByName(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	putFile(t, filepath.Join(top, "p/opencode.json"), `{"permission":"ask"}`)
	s, err := (&Finder{State: t.TempDir(), NoPins: true}).search(&Where{Dir: top, Home: top, Getenv: func(string) string { return "" }})
	ok(t, err)
	if chains, err := s.discover(top + "/p/../p/"); len(chains) != 1 || len(chains[0]) != 1 || err != nil {
		t.Errorf("%v, %v", chains, err)
	}
	for at, want := range map[string]string{top + "/p/": top + "/p", top + "/p/./sub": top + "/p/sub", "p": ""} {
		if got := s.repository(at); got != want {
			t.Errorf("repository of %s: %q", at, got)
		}
	}
	ok(t, os.Mkdir(filepath.Join(top, "p", ".git"), 0o700))
	s.have = map[string]bool{}
	if got := s.repository(top + "/p/sub"); got != top+"/p" {
		t.Errorf("in a repository: %q", got)
	}
	claude, err := named(s.list, "claudecode")
	ok(t, err)
	for name, want := range map[string]string{"/p/.claude/settings.json": "/p", "/p/other.json": "/p", "/q/settings.json": "/q"} {
		if got := s.written(claude, []dialect.File{{Name: name}}); got != want {
			t.Errorf("%s was written for %q", name, got)
		}
	}
	if got := s.replaced(top + "/p"); got != nil {
		t.Errorf("no link leads away from it: %+v", got)
	}
}

// TestStamps: a file is looked at once, names that are missing are remembered at the nearest directory that is there,
// and below a directory of a pattern those in it count.
func TestStamps(t *testing.T) {
	dir := t.TempDir()
	putFile(t, filepath.Join(dir, "a"), "")
	putFile(t, filepath.Join(dir, "sub", "b"), "")
	s, err := (&Finder{Watcher: new(Watcher), State: dir}).search(&Where{Dir: dir})
	ok(t, err)
	first := s.watch(filepath.Join(dir, "a"))
	if first == nil || s.watch(filepath.Join(dir, "a")) != first || len(s.out.looked.stamps) != 1 {
		t.Errorf("%+v, of %d", first, len(s.out.looked.stamps))
	}
	for _, name := range []string{"none", "deep/er/none"} {
		if st := s.watch(filepath.Join(dir, name)); st != nil {
			t.Errorf("%s: %+v", name, st)
		}
	}
	if list := s.out.looked.stamps; len(list) != 2 || !slices.Equal(list[1].missing, []string{"none", "deep/er/none"}) {
		t.Errorf("%+v", list)
	}
	s.watchBelow(dir)
	var names []string
	for _, st := range s.out.looked.stamps[2:] {
		names = append(names, strings.TrimPrefix(st.name, dir))
	}
	if !slices.Equal(names, []string{"", "/sub"}) {
		t.Errorf("below it: %q", names)
	}
	s.Watcher = nil
	s.watchBelow(filepath.Join(dir, "sub"))
	if st := s.watch(filepath.Join(dir, "sub", "b")); st != nil || len(s.out.looked.stamps) != 4 {
		t.Errorf("nothing watches, and %+v", st)
	}
}

// TestRelevant: an event counts for the names that are watched for in its directory, for a file or directory itself,
// and where nothing is known of it.
func TestRelevant(t *testing.T) {
	w := &Watcher{of: map[int32]*point{1: {names: map[string]bool{"a": true}}, 2: {any: true}}}
	for _, tt := range []struct {
		id   int32
		name string
		want bool
	}{{1, "a", true}, {1, "b", false}, {1, "", true}, {2, "b", true}, {3, "b", true}} {
		if got := w.relevant(tt.id, tt.name); got != tt.want {
			t.Errorf("%d %q: %t", tt.id, tt.name, got)
		}
	}
}

// TestHeld: what was found to hold is looked at again when something has happened, after a while, and by another
// watcher, and not before.
func TestHeld(t *testing.T) {
	if newKernelEvents() == nil {
		t.Skip("the system has no events of files")
	}
	w := new(Watcher)
	for name, tt := range map[string]struct {
		later func(moment) moment
		looks bool
	}{
		"at once":           {func(m moment) moment { return m }, false},
		"a little later":    {func(m moment) moment { m.now = m.now.Add(recheck / 2); return m }, false},
		"a while later":     {func(m moment) moment { m.now = m.now.Add(2 * recheck); return m }, true},
		"after an event":    {func(m moment) moment { m.count++; return m }, true},
		"by another's":      {func(m moment) moment { m.events = newKernelEvents(); return m }, true},
		"by no one's":       {func(m moment) moment { m.events = nil; return m }, true},
		"at the last of it": {func(m moment) moment { m.now = m.now.Add(recheck); return m }, true},
	} {
		file := filepath.Join(t.TempDir(), "a")
		putFile(t, file, "")
		st := stampOf(file)
		looked := &watched{stamps: []*stamp{st}}
		if !looked.hold(w, w.look()) {
			t.Fatalf("%s: it does not hold", name)
		}
		now := w.look()
		if now.events == nil || looked.by != now.events || !looked.hold(w, now) {
			t.Skip("the system cannot watch the temporary directory")
		}
		st.info = nil // who looks finds something else
		if got := looked.hold(w, tt.later(now)); got == tt.looks {
			t.Errorf("%s: it is looked at: %t", name, got)
		}
	}
}

// TestManyLinks: a name with more links on the way than a kernel follows is not watched.
func TestManyLinks(t *testing.T) {
	if newKernelEvents() == nil {
		t.Skip("the system has no events of files")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	putFile(t, filepath.Join(top, "0"), "")
	for i := range 41 {
		ok(t, os.Symlink(fmt.Sprint(i), filepath.Join(top, fmt.Sprint(i+1))))
	}
	for n, want := range map[string]bool{"0": true, "40": true, "41": false, "none": true, "none/deeper": true} {
		w := new(Watcher)
		events, _ := w.add([]*stamp{{name: filepath.Join(top, n)}})
		if (events != nil) != want {
			t.Errorf("%s links: watched is %t", n, events != nil)
		}
	}
}

// TestSpoken: a project's settings speak of the variables that lead to the user's own files; those around the home do so
// for the home alone.
func TestSpoken(t *testing.T) {
	for _, above := range []bool{false, true} {
		for _, name := range ownPlaces {
			s := &search{spoken: []spoken{{`{"env":{"` + name + `":"/x"}}`, above}}}
			want := !above || name == "HOME" || name == "USERPROFILE"
			if got := s.mentioned(name); got != want {
				t.Errorf("%s, above the home %t: %t", name, above, got)
			}
			if s.mentioned("OTHER") {
				t.Errorf("it speaks of %s alone", name)
			}
		}
	}
}

// TestIdentity: a directory is known by what it is, and what is not there by nothing; files that were accepted for no
// other place have no twin.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	ok(t, os.Mkdir(filepath.Join(dir, "a"), 0o700))
	if a, b := identity(dir), identity(filepath.Join(dir, "a")); a == "" || a == b || identity(filepath.Join(dir, "none")) != "" {
		t.Errorf("%q, %q", a, b)
	}
	st := &site{configs: []*config{{}}}
	for _, s := range []*search{{}, {pins: &pinStore{}}, {pins: &pinStore{idx: new(pinIndex)}}} {
		if got := s.twin(st); got != "" {
			t.Errorf("%q", got)
		}
		if s.pins != nil && s.pins.idx == nil {
			if got := s.carried(st); got != nil {
				t.Errorf("%+v", got)
			}
		}
	}
}

// TestRulesOfLists: accepting shows each rule once, those of the stages first, and no rule that only marks a call.
func TestRulesOfLists(t *testing.T) {
	p := &obstat.Program{Mode: "m", Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{
		obstat.Mark{Rules: "b marks"}, obstat.Match{Rules: "z first"}}}},
		Rules: map[string][]obstat.Rule{"a other": nil, "b marks": nil, "z first": nil}}
	if got := listsOf(p); !slices.Equal(got, []string{"z first", "a other"}) {
		t.Errorf("%q", got)
	}
}

// TestReachOfUsers: of a user's own policy only what it denies counts for what a tool can get.
func TestReachOfUsers(t *testing.T) {
	for _, tt := range []struct {
		rule, otherwise obstat.Verdict
		want            obstat.Verdict
	}{
		{obstat.Ask, obstat.Ask, obstat.Allow}, {obstat.Ask, obstat.Allow, obstat.Allow}, {obstat.Deny, obstat.Ask, obstat.Deny},
	} {
		f := &InForce{Policies: []*Policy{answering(t, Own, obstat.Allow, obstat.Allow), answering(t, User, tt.rule, tt.otherwise)}, Pins: "on"}
		if got := f.Reach("Bash", ""); got.Strictest != tt.want {
			t.Errorf("%s, else %s: %+v", tt.rule, tt.otherwise, got)
		}
	}
	only, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte("version: 1\nconfine: code\n")}}})
	ok(t, err)
	f := &InForce{Policies: []*Policy{answering(t, Own, obstat.Allow, obstat.Allow), {Loaded: only}}, Pins: "on"}
	if got := f.Reach("Bash", ""); got.Strictest != obstat.Allow {
		t.Errorf("beside a file that only confines: %+v", got)
	}
}

// TestFaultsCount: a policy below the project's that could not decide denies, and so does a user's.
func TestFaultsCount(t *testing.T) {
	for _, role := range []Role{Inner, User} {
		p := answering(t, role, obstat.Allow, obstat.Allow)
		for n, want := range map[int]bool{0: false, 1: true, 2: true} {
			d := &obstat.Decision{Stage: "default", Verdict: obstat.Deny, Faults: make([]obstat.Fault, n)}
			if got := p.counts(d); got != want {
				t.Errorf("%v with %d faults: %t", role, n, got)
			}
		}
	}
}

// TestCrowdedDirectory: of a directory with more names than are looked at, a pattern says that there are more; links to
// directories are followed.
func TestCrowdedDirectory(t *testing.T) {
	top := t.TempDir()
	ok(t, os.MkdirAll(filepath.Join(top, "few", "a"), 0o700))
	ok(t, os.Symlink("a", filepath.Join(top, "few", "link")))
	putFile(t, filepath.Join(top, "few", "file"), "")
	if got, all := Dirs(filepath.Join(top, "few", "*", "x")); len(got) != 2 || !all {
		t.Errorf("%q, all of them: %t", got, all)
	}
	many := filepath.Join(top, "many")
	ok(t, os.Mkdir(many, 0o700))
	for i := range maxEntries {
		if i == maxEntries-1 {
			if list, err := readSome(many); len(list) != maxEntries-1 || err != nil {
				t.Errorf("%d names: %v", len(list), err)
			}
		}
		ok(t, os.Symlink("x", filepath.Join(many, fmt.Sprint(i))))
	}
	if list, err := readSome(many); len(list) != maxEntries || err == nil {
		t.Errorf("%d names: %v", len(list), err)
	}
	if _, all := Dirs(filepath.Join(many, "*", "x")); all {
		t.Error("all are looked at")
	}
}

// TestConfineOfUser: the user's word for how commands are confined holds, and a project's word tightens it; beside a file
// that cannot be loaded there is none.
func TestConfineOfUser(t *testing.T) {
	say := func(place, word string) *Policy {
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte("version: 1\nconfine: " + word + "\n")}}})
		ok(t, err)
		return &Policy{Loaded: l, Place: place, Role: Own, Accepted: true, OnDisk: true}
	}
	user, project := say("", "{run: code, time: 5s}"), say("/p", "{run: code, time: 1h}")
	for _, list := range [][]*Policy{{user}, {user, project}, {project, user}} {
		if got := (&InForce{Policies: list}).Confine(); got.Time != 5*time.Second || !got.Code {
			t.Errorf("%+v", got)
		}
		for n := range 2 {
			broken := make([]Broken, n+1)
			for i := range broken {
				broken[i] = Broken{Err: errors.New("bad"), Bound: true}
			}
			if got := (&InForce{Policies: list, Broken: broken}).Confine(); got.Code || got.Always || got.Time != 0 {
				t.Errorf("beside %d broken files: %+v", n+1, got)
			}
		}
	}
}

// TestStampHolds: what was looked at still looks the same until it changes, comes or goes; a link that leads nowhere is
// looked at for what it leads to.
func TestStampHolds(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	putFile(t, at("file"), "a")
	ok(t, os.Symlink("target", at("link")))
	ok(t, os.Mkdir(at("sub"), 0o700))
	past := time.Now().Add(-time.Hour)
	for name, change := range map[string]func(){
		"file": func() { ok(t, os.Remove(at("file"))) },
		"link": func() { putFile(t, at("target"), "") },
		"none": func() { putFile(t, at("none"), "") },
		"sub":  func() { putFile(t, at("sub/x"), "") },
	} {
		if name != "none" && name != "link" {
			ok(t, os.Chtimes(at(name), past, past))
		}
		st := stampOf(at(name))
		if !st.holds() {
			t.Errorf("%s: it has changed before", name)
		}
		if change(); st.holds() {
			t.Errorf("%s: it has not changed", name)
		}
	}
}

// TestWaitsFor: what is waited for is the place of the files that would be looser, or, of a user's, of the first new ones.
func TestWaitsFor(t *testing.T) {
	for _, tt := range []struct{ place, fresh, want string }{{"/p", "/q", "/p"}, {"", "/q", "/q"}, {"", "", ""}} {
		from := answering(t, Own, obstat.Allow, obstat.Allow)
		from.Place = tt.place
		f := &InForce{Pins: "on", New: []Unaccepted{{Place: tt.fresh}, {Place: "/last"}}}
		if tt.fresh == "" {
			f.New = nil
		}
		out := &Ruling{Decision: obstat.Decision{Verdict: obstat.Ask}}
		f.waiting(out, &Ruling{Decision: obstat.Decision{Verdict: obstat.Allow}, From: from})
		if out.Waits != tt.want || strings.Contains(out.Note, "obstat trust") != (tt.want != "") {
			t.Errorf("%+v: %q: %s", tt, out.Waits, out.Note)
		}
	}
}
