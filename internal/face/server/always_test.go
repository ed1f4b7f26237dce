package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
)

// TestAlwaysOnReplicas: a rule that is accepted on one of several servers counts on all of them,
// and no server's own file is changed, which the others do not read.
func TestAlwaysOnReplicas(t *testing.T) {
	t.Parallel()
	first := open(t, func(o *server.Options) { o.Shared = true })
	second := open(t, func(o *server.Options) { o.Shared, o.Store = true, first.store })
	d := first.decide("make all", "")
	at := "/v1/requests/" + d.Request.ID
	if code, body := second.do(second.ann, "POST", at+"/answer", `{"allow":true,"scope":"always","offer":1}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := first.do(first.agent, "POST", at+"/claim", `{"digest":"`+d.Request.Digest+`"}`); code != 200 || strings.Contains(body, "could not be kept") {
		t.Fatalf("%d %s", code, body)
	}
	for _, s := range []*site{first, second} {
		var now client.PolicyVersion
		for end := time.Now().Add(time.Minute); now.Version != 1; time.Sleep(20 * time.Millisecond) {
			if s.get(s.ann, "/v1/policies/0", &now); time.Now().After(end) {
				t.Fatalf("%+v is in force", now)
			}
		}
		if d := s.decide("make all", ""); d.Verdict != "allow" {
			t.Errorf("%+v", d)
		}
		if text, err := os.ReadFile(s.file); err != nil || string(text) != rules {
			t.Errorf("%s %v", text, err)
		}
	}
	if code, body := first.do(first.admin, "POST", "/v1/policies/rollback", `{"instead":1,"reason":"a test","loosens":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
}

// TestAlwaysKeepsDenials: where the user's own policy denies beside the one that asks, a rule that is
// accepted makes no version: that would be the one policy alone, and lift the denials. The call does not run.
func TestAlwaysKeepsDenials(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(dir, "opencode.json"):                     `{"permission": {"bash": {"*": "ask"}}}`,
		filepath.Join(home, ".config", "obstat", "obstat.yaml"): "version: 1\ndeny:\n  - run shred\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	s := open(t, func(o *server.Options) {
		o.Shared, o.Policy = true, &gate.Files{Dir: dir, Home: home, Mine: true, NoPins: true, Getenv: func(string) string { return "" }}
	})
	d := s.decide("make all", "")
	at := "/v1/requests/" + d.Request.ID
	if code, body := s.do(s.ann, "POST", at+"/answer", `{"allow":true,"scope":"always","offer":1}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := s.do(s.agent, "POST", at+"/claim", `{"digest":"`+d.Request.Digest+`"}`); code != 200 || !strings.Contains(body, `"verdict":"deny"`) || !strings.Contains(body, "several policies are in force") {
		t.Errorf("%d %s", code, body)
	}
	if d := s.decide("shred disk", ""); d.Verdict != "deny" {
		t.Errorf("%+v", d)
	}
}

// TestAlwaysIntoOwnFile: of the files of a version, the administrator's is not the one that gets a
// rule that is accepted, also where it is the last.
func TestAlwaysIntoOwnFile(t *testing.T) {
	s := open(t, func(o *server.Options) {
		own := o.Policy.(*gate.Files).Names[0]
		managed := filepath.Join(t.TempDir(), "opencode.json")
		must(t, os.WriteFile(managed, []byte(`{"permission": {"bash": {"shred *": "deny"}}}`), 0o600))
		o.Shared, o.Policy = true, &gate.Files{Names: []string{"project=" + own, "managed=" + managed}, NoPins: true}
	})
	d := s.decide("make all", "")
	at := "/v1/requests/" + d.Request.ID
	if code, body := s.do(s.ann, "POST", at+"/answer", `{"allow":true,"scope":"always","offer":1}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := s.do(s.agent, "POST", at+"/claim", `{"digest":"`+d.Request.Digest+`"}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	var now client.PolicyVersion
	if s.get(s.ann, "/v1/policies/0", &now); now.Version != 1 || len(now.Files) != 2 || !strings.Contains(now.Files[0].Text, "make") || strings.Contains(now.Files[1].Text, "make") {
		t.Errorf("%+v", now)
	}
}

// TestAlwaysWrittenAsChecked: a rule that a person wrote is kept as it was checked, whatever it calls
// itself, and one that the policy's notation cannot say is refused at once.
func TestAlwaysWrittenAsChecked(t *testing.T) {
	const yaml = "version: 1\nallow:\n  - run git status\n"
	s := open(t, func(o *server.Options) {
		name := filepath.Join(t.TempDir(), "obstat.yaml")
		must(t, os.WriteFile(name, []byte(yaml), 0o600))
		o.Shared, o.Policy = true, &gate.Files{Names: []string{name}, NoPins: true}
	})
	for _, source := range []string{"run rm", `run terraform plan\n  - run rm`, ""} {
		d := s.decide("terraform plan", "")
		rule := `{"tool":{"any":true},"field":"command","match":{"wildcard":"terraform plan"},"verdict":"allow","source":"` + source + `"}`
		code, body := s.do(s.ann, "POST", "/v1/requests/"+d.Request.ID+"/answer", `{"allow":true,"scope":"always","offer":1,"rule":`+rule+`}`)
		if code != 422 || !strings.Contains(body, "would not load") {
			t.Errorf("%q: %d %s", source, code, body)
		}
	}
	var now client.PolicyVersion
	if s.get(s.ann, "/v1/policies/0", &now); now.Version != 0 || now.Files[0].Text != yaml {
		t.Errorf("%+v", now)
	}
}
