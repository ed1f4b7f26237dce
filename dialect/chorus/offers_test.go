package chorus_test

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/chorus"
)

// An accepted offer is the action and nothing else; it stands in the file that
// spells the profile out, every other byte unchanged.
func TestOffers(t *testing.T) {
	const before = "{\n  \"name\": \"a\",\n  \"permissions\": {\"allow\": [\"tool:view:.*\"], \"ask\": [\"tool:.*\"]}\n}\n"
	const after = "{\n  \"name\": \"a\",\n  \"permissions\": {\"allow\": [\"tool:view:.*\", \"tool:bash:npm run a\\\\.b \\\\(x\\\\)\"], \"ask\": [\"tool:.*\"]}\n}\n"
	f := dialect.File{Name: "agent.json", Data: []byte(before)}
	l, err := dialect.Load(chorus.Dialect{}, &dialect.Input{Files: []dialect.File{f}, Options: map[string]string{"floor": "off"}})
	if err != nil {
		t.Fatal(err)
	}
	c := call("bash", `{"command":"npm run a.b (x)"}`)
	d := l.Policy.Decide(c, nil)
	offers := l.Offers(c, nil, &d)
	if len(offers) != 1 || offers[0].Scope != "always" {
		t.Fatalf("%+v", offers)
	}
	out, err := chorus.Dialect{}.AddRule(&f, &offers[0])
	if err != nil || string(out) != after {
		t.Fatalf("%v, %q, want %q", err, out, after)
	}
	f.Data = out
	if l, err = dialect.Load(chorus.Dialect{}, &dialect.Input{Files: []dialect.File{f}, Options: map[string]string{"floor": "off"}}); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{"npm run a.b (x)": obstat.Allow, "npm run axb (x)": obstat.Ask, "npm run a.b (x); rm x": obstat.Ask} {
		input, _ := json.Marshal(map[string]string{"command": command})
		if d := l.Policy.Decide(call("bash", string(input)), nil); d.Verdict != want {
			t.Errorf("%s: %s, want %s", command, d.Verdict, want)
		}
	}
	if again, err := (chorus.Dialect{}).AddRule(&f, &offers[0]); err != nil || string(again) != after {
		t.Errorf("written twice: %v, %q", err, again)
	}
}

// A preset takes no rule, and a change of the profile is never offered.
func TestOffersOfPresets(t *testing.T) {
	l, err := load(`{"permissions":"standard"}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := call("bash", `{"command":"npm test"}`)
	d := l.Policy.Decide(c, nil)
	offers := l.Offers(c, nil, &d)
	if len(offers) != 1 || offers[0].Scope != "session" {
		t.Fatalf("%+v", offers)
	}
	if _, err := (chorus.Dialect{}).AddRule(&l.Input.Files[0], &offers[0]); err == nil {
		t.Error("a preset was changed")
	}
	c = &obstat.Call{Tool: "self_edit_permissions", Input: json.RawMessage(`{"profile":"open"}`), Roles: []string{chorus.RoleAdministrator}}
	if d = l.Policy.Decide(c, nil); d.Verdict != obstat.Ask || len(l.Offers(c, nil, &d)) != 0 {
		t.Errorf("%s, offers %+v", d.Verdict, l.Offers(c, nil, &d))
	}
}

// Rules go to the named profile they belong to.
func TestOfferForANamedProfile(t *testing.T) {
	f := dialect.File{Name: "config.json", Data: []byte(`{"permissions":"p","permission_profiles":{"p":{"allow":[],"ask":["tool:.*"]}}}`)}
	l, err := dialect.Load(chorus.Dialect{}, &dialect.Input{Files: []dialect.File{f}})
	if err != nil {
		t.Fatal(err)
	}
	c := call("view", `{"path":"a b"}`)
	d := l.Policy.Decide(c, nil)
	offers := l.Offers(c, nil, &d)
	if len(offers) != 1 {
		t.Fatalf("%+v", offers)
	}
	out, err := chorus.Dialect{}.AddRule(&f, &offers[0])
	if want := `{"permissions":"p","permission_profiles":{"p":{"allow":["tool:view:a b"],"ask":["tool:.*"]}}}`; err != nil || string(out) != want {
		t.Errorf("%v, %s, want %s", err, out, want)
	}
}
