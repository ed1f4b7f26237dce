package obstat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
)

// plainWorld answers what every World has to, and nothing else.
type plainWorld struct{ s *obstat.Snapshot }

func (w plainWorld) Home(user string) (string, bool)     { return w.s.Home(user) }
func (w plainWorld) Readlink(name string) (string, bool) { return w.s.Readlink(name) }
func (w plainWorld) IsDir(path string) bool              { return w.s.IsDir(path) }

// worldAnswers puts every question to a world that answers all of them.
func worldAnswers(w interface {
	obstat.World
	IsFile(string) bool
	List(string) (links, dirs []string, all bool)
	Secrets(string) ([]string, bool)
	Twins(string) []string
}) []string {
	var out []string
	say := func(question string, answer ...any) { out = append(out, question+": "+fmt.Sprint(answer...)) }
	for _, user := range []string{"", "root", "nobody"} {
		home, ok := w.Home(user)
		say("home of "+user, home, " ", ok)
	}
	for _, p := range []string{"/p", "/p/link", "/p/.env", "/p/src", "/none"} {
		to, ok := w.Readlink(p)
		say("link "+p, to, " ", ok)
		say("directory "+p, w.IsDir(p))
		say("file "+p, w.IsFile(p))
		say("twins of "+p, w.Twins(p))
	}
	for _, dir := range []string{"/p", "/p/src", "/none"} {
		links, _, all := w.List(dir)
		say("links in "+dir, links, " ", all)
		files, all := w.Secrets(dir)
		say("secrets in "+dir, files, " ", all)
	}
	return out
}

// TestRecorder: a recorder answers as the machine does, and its record as both did.
func TestRecorder(t *testing.T) {
	of := &obstat.Snapshot{
		HomeDir: "/home/u", Homes: map[string]string{"root": "/root"}, Links: map[string]string{"/p/link": "src", "/p/src/up": ".."},
		Dirs: []string{"/p", "/p/src"}, Files: []string{"/p/.env", "/p/src/id_rsa"}, Searched: []string{"/p"},
		Hard: map[string]string{"/p/.env": "/p/src/copy", "/p/src/copy": "/p/src/third"},
	}
	rec := &obstat.Recorder{Of: of}
	want := worldAnswers(of)
	if diff := cmp.Diff(want, worldAnswers(rec)); diff != "" {
		t.Error("recorded\n", diff)
	}
	if diff := cmp.Diff(want, worldAnswers(rec)); diff != "" {
		t.Error("asked twice\n", diff)
	}
	if diff := cmp.Diff(want, worldAnswers(rec.Seen())); diff != "" {
		t.Error("from the record\n", diff)
	}
	for _, line := range []string{"home of : /home/u true", "home of root: /root true", "home of nobody:  false", "link /p/link: src true",
		"directory /p/src: true", "directory /p/.env: false", "file /p/.env: true", "twins of /p/.env: [/p/src/copy /p/src/third]",
		"twins of /p/src: []", "links in /p: [link] true", "secrets in /p: [/p/.env /p/src/id_rsa] true", "secrets in /p/src: [/p/src/id_rsa] false"} {
		if !strings.Contains(strings.Join(want, "\n")+"\n", line+"\n") {
			t.Errorf("no %q in\n%s", line, strings.Join(want, "\n"))
		}
	}
}

// TestRecorderOfLittle: of a machine that cannot be asked, nothing is known: secrets may be anywhere.
func TestRecorderOfLittle(t *testing.T) {
	snap := &obstat.Snapshot{HomeDir: "/home/u", Links: map[string]string{"/p/link": "src"}, Files: []string{"/p/.env"}, Searched: []string{"/p"}}
	for name, rec := range map[string]*obstat.Recorder{"no world": {}, "a plain world": {Of: plainWorld{snap}}} {
		if _, ok := rec.Home("root"); ok || rec.IsDir("/p") || rec.IsFile("/p/.env") || rec.Twins("/p/.env") != nil {
			t.Errorf("%s: something is there", name)
		}
		if links, dirs, all := rec.List("/p"); links != nil || dirs != nil || !all {
			t.Errorf("%s: lists %q, %q, %t", name, links, dirs, all)
		}
		if files, all := rec.Secrets("/p"); files != nil || all {
			t.Errorf("%s: secrets %q, %t", name, files, all)
		}
		if straight, dir := rec.Walk("/p"); straight || dir {
			t.Errorf("%s: walks", name)
		}
		if home, ok := rec.Home(""); ok != (rec.Of != nil) || ok && home != "/home/u" {
			t.Errorf("%s: home %q, %t", name, home, ok)
		}
	}
}

// TestSearchesAreBounded: more searched directories than a record may have make no record.
func TestSearchesAreBounded(t *testing.T) {
	for n, want := range map[int]bool{1000: true, 1001: false} {
		of := &obstat.Snapshot{}
		for i := range n {
			of.Searched = append(of.Searched, fmt.Sprint("/d", i))
		}
		rec := &obstat.Recorder{Of: of}
		for range 2 { // again is no answer more
			for _, dir := range of.Searched {
				rec.Secrets(dir)
			}
		}
		if seen := rec.Seen(); (seen != nil) != want || want && len(seen.Searched) != n {
			t.Errorf("%d searches are recorded: %t", n, seen != nil)
		}
	}
}
