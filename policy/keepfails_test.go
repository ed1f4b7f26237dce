package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
)

// TestKeepNothing: where nothing is new, rules that a person accepts stick and leave no record; a rule that no accepted
// Program takes does not stick.
func TestKeepNothing(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl})
	at := w.where("claude-code")
	w.trust(at)
	before := w.pins()
	if kept, err := w.finder.Keep(t.Context(), at, []obstat.Offer{{Text: "Bash(npm test *)"}}, "alice"); !kept || err != nil {
		t.Errorf("nothing is new: %t, %v", kept, err)
	}
	if after := w.pins(); len(after) != len(before) {
		t.Errorf("%d pins, there were %d", len(after), len(before))
	}
	w.write(claudeFile, claudeAll)
	odd := obstat.Offer{Text: "odd", List: "no such list", Rule: obstat.Rule{Tool: obstat.Is("")}}
	if kept, err := w.finder.Keep(t.Context(), at, []obstat.Offer{odd}, "alice"); kept || err != nil {
		t.Errorf("a rule that no Program takes: %t, %v", kept, err)
	}
}

// TestKeptApart: a rule that is kept counts from then on, and the pin that was found before has not got it.
func TestKeptApart(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Bash(npm test *)"]}}`})
	at := w.where("claude-code")
	w.trust(at)
	w.write(claudeFile, `{"permissions":{"allow":["Bash(npm test *)","Bash(npm run *)","Bash(curl *)"]}}`)
	found := w.find(at)
	if kept, err := w.finder.Keep(t.Context(), at, w.offer(at, "npm run x"), "alice"); !kept || err != nil {
		t.Fatal(kept, err)
	}
	if d := found.Decide(bash(at, "npm run x"), obstat.OS{}); d.Verdict != obstat.Ask {
		t.Errorf("as it was found: %s: %s", d.Verdict, d.Reason())
	}
	w.check(at, "npm run x", obstat.Allow)
	w.check(at, "curl x", obstat.Ask)
}

// TestPinsWithoutPlace: where the state cannot be read or written, no file is accepted, what is on disk does not loosen,
// and the reason is told.
func TestPinsWithoutPlace(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"a file in place of the directory": func(w *world) {
			w.write("plain", "")
			w.finder.State = filepath.Join(w.top, "plain")
		},
		"a key that is a directory": func(w *world) {
			key := ledger.KeyPath(statedir.Store(w.finder.State))
			if err := os.MkdirAll(key, 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"a ledger that is a directory": func(w *world) {
			if err := os.MkdirAll(statedir.Ledger(w.finder.State), 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		w := pinned(t, map[string]string{claudeFile: `{"permissions":{"allow":["Bash"],"deny":["Bash(curl *)"]}}`})
		at := w.where("claude-code")
		spoil(w)
		w.check(at, "curl x", obstat.Deny)
		w.check(at, "make x", obstat.Ask)
		in, err := w.finder.Find(at)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := w.finder.Pin(t.Context(), in, at, "alice"); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if err := w.finder.Off(t.Context(), at, true, "alice"); err == nil {
			t.Errorf("%s: switched off", name)
		}
		if kept, err := w.finder.Keep(t.Context(), at, []obstat.Offer{{Text: "Bash"}}, "alice"); kept {
			t.Errorf("%s: kept, %v", name, err)
		}
		w.check(at, "make x", obstat.Ask)
	}
}

// TestUsersOwnBroken: a file of the user's own that cannot be loaded is told, and nothing is allowed by it.
func TestUsersOwnBroken(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: claudeAll, "home/.claude/settings.json": `{"permissions":{"allow":`})
	at := w.where("claude-code")
	in := w.find(at)
	if len(in.Broken) == 0 {
		t.Fatal("nothing is broken")
	}
	for _, b := range in.Broken {
		if b.Bound {
			t.Errorf("%v is said to bind the call", b.Err)
		}
	}
	w.check(at, "make", obstat.Deny, "cannot be loaded", "settings.json")
	var told bool
	for _, l := range in.Looked {
		told = told || filepath.Base(filepath.Dir(filepath.Dir(l.Name))) == "home" && l.Accepted
	}
	if !told {
		t.Errorf("%+v", in.Looked)
	}
}
