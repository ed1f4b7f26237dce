package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
)

func toys() List { return append(All(), Toy()) }

// TestToyWire: a payload of the new agent is told from the others', read, and
// answered in its form.
func TestToyWire(t *testing.T) {
	const call = `{"toyVersion":1,"does":"sh","with":{"command":"rm -rf /"},"where":"/w"}`
	for _, told := range []string{"toy", "", ClaudeCode} {
		e, err := toys().Decode(told, []byte(call), nil)
		if err != nil || e.Agent != "toy" || e.Call.Agent != "toy" || e.Call.Tool != "sh" || e.Call.Dir != "/w" || string(e.Call.Input) != `{"command":"rm -rf /"}` {
			t.Fatalf("told %q: %+v, %v", told, e, err)
		}
		for verdict, want := range map[obstat.Verdict]string{obstat.Allow: `{"go":true}`, obstat.Deny: `{"go":false,"because":"why"}`} {
			r := e.Encode(&obstat.Decision{Verdict: verdict, Note: "why"}, nil)
			if got := strings.TrimSpace(string(r.Stdout)); got != want || (r.Exit == 0) != (verdict == obstat.Allow) {
				t.Errorf("%v: %s, exit %d", verdict, got, r.Exit)
			}
		}
		if e.CanAsk(nil) || e.Who().Patience != time.Minute {
			t.Errorf("told %q: it cannot ask, and waits a minute: %+v", told, e.Who())
		}
	}
	for _, bad := range []string{`{"toyVersion":1}`, `{"toyVersion":1,"does":"sh","with":"ls"}`, `{"toyVersion":1,"does":"sh","DOES":"x","with":{}}`} {
		e, err := toys().Decode("", []byte(bad), nil)
		if err == nil || e.Refuse(err.Error()).Exit != exitDeny {
			t.Errorf("%s: %+v", bad, e)
		}
	}
}

// TestToySettings: obstat's entry goes into the new agent's file and comes out of
// it again, every other byte unchanged, and the file is a guarded one.
func TestToySettings(t *testing.T) {
	home := t.TempDir()
	toy, file := toys().Of("toy"), filepath.Join(home, ".toy", "toy.json")
	r := &Request{Scope: User, Where: &Where{Home: home}, Program: "/opt/obstat"}
	const old = "{\n\t\"colour\": \"red\" ,\n\t\"hooks\": {\"AfterDoing\": [{\"run\": \"tidy\"}]}\n}"
	apply(t, toy.Install(r), map[string]string{file: old})
	now, _ := os.ReadFile(file)
	s := toy.Look(r.Where)
	if !s.Used || len(s.Hooks) != 1 || s.Hooks[0].Event != "BeforeDoing" || s.Hooks[0].Timeout != patient || !strings.Contains(s.Hooks[0].Text, "/opt/obstat hook toy ||") {
		t.Fatalf("%s\n%+v", now, s)
	}
	apply(t, toy.Install(r), nil)
	if again, _ := os.ReadFile(file); !bytes.Equal(again, now) {
		t.Errorf("installing twice: %s", again)
	}
	apply(t, toy.Uninstall(r), nil)
	if back, _ := os.ReadFile(file); string(back) != old {
		t.Errorf("taken out:\n%s", back)
	}
	for _, want := range []Trait{{HookTrait, ".toy/toy.json"}, {MovedTrait, "TOY_HOME toy.json"}, {ProcessTrait, "toyd"}, {MarkTrait, "TOY_SESSION"}} {
		if !slices.Contains(toys().Traits(), want) {
			t.Errorf("%+v is not told", want)
		}
	}
}

// TestToyPage: the new agent's page, its row in the list of agents and its places for tables are made.
func TestToyPage(t *testing.T) {
	page := Toy().page("")
	for _, want := range []string{"# Toy\n", "obstat install toy", "| asking | no | Toy cannot ask. |", "Toy's own rules follow."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if Toy().page(page) != page {
		t.Error("the page made of a page is another one")
	}
	if list := toys().Installable().index(between("agents", "")); !strings.Contains(list, "| [Toy](toy.md) | no | denied | no | denied |") {
		t.Errorf("no row for it:\n%s", list)
	}
}

// apply writes files, and makes changes to them.
func apply(t *testing.T, changes []Change, files map[string]string) {
	t.Helper()
	for name, text := range files {
		write(t, name, 0o644, text)
	}
	if len(changes) == 0 {
		t.Fatal("there is nothing to change")
	}
	for _, c := range changes {
		if err := textedit.ReplaceFile(c.Name, 0o644, c.Edit); err != nil {
			t.Fatal(err)
		}
	}
}
