package policy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
	"github.com/obstat/obstat/policy"
)

// TestNamedFiles: a file that a person names is in force as it is, without a pin, and nothing keeps it from loosening.
func TestNamedFiles(t *testing.T) {
	w := pinned(t, nil)
	name := w.write2("named/.claude/settings.json", claudeAll)
	at := w.where("claude-code")
	at.Named = &policy.Named{Files: []string{name}}
	f := w.find(at)
	if f.Pinned || len(f.Policies) != 1 || !f.Policies[0].OnDisk || !f.Policies[0].Accepted || f.Policies[0].Why != "named" {
		t.Errorf("pinned %t, %+v", f.Pinned, f.Policies)
	}
	if len(f.Looked) != 1 || f.Looked[0].Name != name || !f.Looked[0].InForce || !f.Looked[0].Accepted {
		t.Errorf("%+v", f.Looked)
	}
	w.check(at, "make", obstat.Allow)
}

// TestBrokenAtFirstSight: a project's file that cannot be loaded denies where nothing was accepted before: no older
// version bounds it.
func TestBrokenAtFirstSight(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: `{"permissions":`})
	at := w.where("claude-code")
	w.check(at, "ls", obstat.Deny, "cannot be loaded")
	if f := w.find(at); len(f.Broken) != 1 || f.Broken[0].Bound || f.Broken[0].Place != w.dir {
		t.Errorf("%+v", f.Broken)
	}
	w.finder.NoPins = true
	w.check(at, "ls", obstat.Deny, "cannot be loaded")
}

// TestUsersAside: a user's file of another agent is looked at, and is told not to be in force, where a project's policy
// decides.
func TestUsersAside(t *testing.T) {
	w := newWorld(t, map[string]string{"home/.claude/settings.json": claudeAll, "home/.codex/rules/default.rules": "prefix_rule(pattern=[\"make\"], decision=\"allow\")\n"})
	at := w.where("claude-code")
	var aside []policy.Looked
	for _, l := range w.find(at).Looked {
		if !l.InForce {
			aside = append(aside, l)
		}
	}
	if len(aside) != 1 || aside[0].Dialect != "codex" || aside[0].Why != "another policy decides here" || !aside[0].Accepted {
		t.Errorf("%+v", aside)
	}
}

// TestKeptBy: rules that are added to a pin are recorded with the terminal and the processes of the person who accepted
// them, and nothing new is chosen where nothing is new.
func TestKeptBy(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl})
	at := w.where("claude-code")
	w.trust(at)
	if chosen, err := w.finder.Chosen(t.Context(), w.find(at), at); chosen || err != nil {
		t.Errorf("chosen %t %v", chosen, err)
	}
	w.write(claudeFile, `{"permissions": {"allow": ["Bash", "Read"]}}`) // more than the rule that is kept
	w.finder.Who = &person.Who{Terminal: "/dev/pts/77"}
	if kept, err := w.finder.Keep(t.Context(), at, w.offer(at, "npm test"), "alice"); err != nil || !kept {
		t.Fatalf("kept %t %v", kept, err)
	}
	var last string
	for r, err := range logfile.New(statedir.Ledger(w.finder.State)).Records(t.Context(), ledger.Query{Kind: ledger.Pin}) {
		if err != nil {
			t.Fatal(err)
		}
		last = string(r.Detail)
	}
	if !strings.Contains(last, "/dev/pts/77") {
		t.Errorf("the record does not say who: %.300s", last)
	}
}

// TestOffFails: pins of a dialect that does not exist are not switched off, and the error says so.
func TestOffFails(t *testing.T) {
	w := pinned(t, nil)
	at := w.where("claude-code")
	at.Named = &policy.Named{Dialect: "nonsense"}
	if err := w.finder.Off(t.Context(), at, true, "alice"); err == nil {
		t.Error("switched off")
	}
	if err := w.finder.Pin(t.Context(), &policy.InForce{}, at, "alice"); err == nil {
		t.Error("accepted")
	}
}

// TestOwnRulesUnpinned: an agent matches its own files as they are on disk, accepted or not, also where a person has
// named other files for obstat.
func TestOwnRulesUnpinned(t *testing.T) {
	w := pinned(t, map[string]string{claudeFile: noCurl, "other.yaml": "version: 1\nallow: [run anything]\n"})
	at := w.where("claude-code")
	at.Named = &policy.Named{Files: []string{filepath.Join(w.top, "other.yaml")}}
	for command, denied := range map[string]bool{"curl x": true, "make": false} {
		why, known, err := policy.OwnRules(at, bash(at, command), obstat.OS{})
		if err != nil || !known || (why != "") != denied {
			t.Errorf("%s: %q %t %v", command, why, known, err)
		}
	}
}
