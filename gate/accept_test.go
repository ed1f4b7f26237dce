package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
)

// samples is a file of each dialect that rules can be written to, with a call
// that asks and one that its accepted offer settles.
var samples = map[string]struct {
	file, text string
	call, like *obstat.Call
}{
	"opencode": {"opencode.json", policy, bash("npm run build"), bash("npm run build --verbose")},
	"agentscope": {"permission_context.json", `{
  "mode": "default",
  "working_directories": {},
  "allow_rules": {},   "deny_rules": {},
  "ask_rules": {}
}
`, &obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"npm run build"}`), Dir: "/src/app"}, nil},
	"jiuwen": {"config.yaml", `# ours
permissions:
  enabled: true   # always
  schema: tiered_policy
  tools:
    bash: ask
    read_file: allow
`, &obstat.Call{Tool: "bash", Input: json.RawMessage(`{"command":"npm run build"}`), Dir: "/src/app"}, nil},
	"adkfluent": {"adk-permissions.yaml", `mode: default
ask: [deploy]   # think first
allow:
  - read_file
`, &obstat.Call{Tool: "search_docs", Input: json.RawMessage(`{"q":"x"}`)}, &obstat.Call{Tool: "search_docs", Input: json.RawMessage(`{"q":"y"}`)}},
	"claudecode": {"settings.json", `{
  "permissions": {
    "allow": ["Bash(git status)"],
    "deny":  ["Bash(rm:*)"]
  }
}
`, &obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"npm run build"}`), Dir: "/src/app"}, nil},
	"qwen": {"settings.json", `{
  "permissions": {
    "allow": ["Bash(git status)"],
    "deny":  ["Bash(rm:*)"]
  }
}
`, &obstat.Call{Tool: "run_shell_command", Input: json.RawMessage(`{"command":"npm run build"}`), Dir: "/src/app"}, nil},
	"native": {"obstat.yaml", `# ours
version: 1
allow:
  - read workspace   # what is there
  - run git status
deny:
  - read secrets
`, bash("npm run build"), bash("npm run build --verbose")},
	"codex": {"default.rules", `# ours
prefix_rule(pattern=["git", "status"], decision="allow")
prefix_rule(pattern=["npm"], decision="prompt", match=["npm run"])
`, &obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"cargo test --all"}`), Dir: "/src/app", Mode: "untrusted"}, nil},
	"gemini": {"ours.toml", `# ours
[[rule]]
toolName = "run_shell_command"
decision = "ask_user"
priority = 100
`, &obstat.Call{Tool: "run_shell_command", Input: json.RawMessage(`{"command":"npm run build"}`), Dir: "/src/app"}, nil},
	"chorus": {"agent.json", `{
  "name": "helper",
  "permissions": {"allow": ["tool:view:.*"], "ask": ["tool:bash:.*"]}
}
`, &obstat.Call{Tool: "bash", Input: json.RawMessage(`{"command":"npm run build"}`), Dir: "/src/app"}, nil},
}

// TestAlways: an accepted rule is written to the dialect's own file, every other
// byte unchanged, and acts at once.
func TestAlways(t *testing.T) {
	for _, d := range all.All() {
		if _, ok := d.(dialect.Editor); !ok {
			continue
		}
		sample, ok := samples[d.Name()]
		if !ok {
			t.Errorf("no sample of %s", d.Name())
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bench{t: t, file: filepath.Join(t.TempDir(), sample.file), store: new(memory.Store)}
				write(t, b.file, sample.text)
				var err error
				b.Gate, err = gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Names: []string{b.file}, Dialect: d.Name()}, Store: b.store, World: &obstat.Snapshot{HomeDir: "/home/ann"}})
				if err != nil {
					t.Fatal(err)
				}
				before := b.Status(t.Context()).Policy
				got := b.answer(sample.call, approval.Answer{Allow: true, Scope: approval.Always, Offer: 1})
				check(t, got, obstat.Allow, "approved by bob")
				if strings.Contains(got.Reason(), "could not be kept") {
					t.Error(got.Reason())
				}
				text, _ := os.ReadFile(b.file)
				if added := inserted(sample.text, string(text)); added == "" {
					t.Errorf("more than an insertion:\n%s", text)
				}
				like := sample.like
				if like == nil {
					like = sample.call
				}
				if d := b.decide(like); d.Verdict != obstat.Allow || d.Stage == obstat.StageApproval {
					t.Errorf("afterwards: %s by %s: %s", d.Verdict, d.Stage, d.Reason())
				}
				if b.Status(t.Context()).Policy == before {
					t.Error("the policy is the same")
				}
			})
		})
	}
}

// unsaved is a Source that cannot keep a rule.
type unsaved struct{ gate.Source }

func (unsaved) Accept(context.Context, *gate.Accepted) error { return errors.New("disk full") }

// TestFailedSave: in every notation, an answer whose rule cannot be saved allows nothing, says why, and leaves
// neither a rule nor a grant.
func TestFailedSave(t *testing.T) {
	for _, name := range []string{"native", "claudecode", "codex", "gemini"} { // YAML, JSON, rules, TOML
		sample := samples[name]
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bench{t: t, file: filepath.Join(t.TempDir(), sample.file), store: new(memory.Store)}
				write(t, b.file, sample.text)
				var err error
				b.Gate, err = gate.Open(t.Context(), gate.Options{Policy: unsaved{&gate.Files{Names: []string{b.file}, Dialect: name}}, Store: b.store, World: &obstat.Snapshot{HomeDir: "/home/ann"}})
				if err != nil {
					t.Fatal(err)
				}
				check(t, b.answer(sample.call, approval.Answer{Allow: true, Scope: approval.Always, Offer: 1}), obstat.Deny, "could not be kept", "disk full")
				if text, _ := os.ReadFile(b.file); string(text) != sample.text {
					t.Errorf("the file changed:\n%s", text)
				}
				if grants, err := b.store.Grants(t.Context(), time.Now()); err != nil || len(grants) > 0 {
					t.Errorf("grants: %v, %v", grants, err)
				}
				check(t, b.answer(sample.call, approval.Answer{}), obstat.Deny) // it asks again
			})
		})
	}
}

// inserted returns what was put into old to make text of it, "" if that is not
// how text came about.
func inserted(old, text string) string {
	if len(text) <= len(old) {
		return ""
	}
	i := 0
	for i < len(old) && old[i] == text[i] {
		i++
	}
	if rest := old[i:]; strings.HasSuffix(text, rest) {
		return text[i : len(text)-len(rest)]
	}
	return ""
}

func TestBroaderRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("npm run build")) }()
		synctest.Wait()
		r := b.pending()
		edit := func(pattern string) json.RawMessage {
			return json.RawMessage(strings.Replace(string(r.Offers[0].Rule), "npm run build *", pattern, 1))
		}
		if string(edit("")) == string(r.Offers[0].Rule) {
			t.Fatalf("another offer: %s", r.Offers[0].Rule)
		}
		for name, rule := range map[string]json.RawMessage{
			"everything": edit("*"), "any one word": edit("?*"), "a shell": edit("sh -c *"), "a wrapper": edit("env *"), "another call": edit("make"),
			"a deny":   json.RawMessage(strings.Replace(string(r.Offers[0].Rule), `"verdict":"allow"`, `"verdict":"deny"`, 1)),
			"any tool": json.RawMessage(`{"verdict":"allow"}`), "the tool": json.RawMessage(`{"tool":"bash","verdict":"allow"}`),
			"no rule": json.RawMessage(`{"verdict":`), "odd": json.RawMessage(`[]`),
		} {
			for _, scope := range []approval.Scope{approval.Always, approval.Session} {
				if _, err := b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: scope, Rule: rule}); err == nil {
					t.Errorf("%s was taken: %s", name, rule)
				}
			}
		}
		if _, err := b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1, Rule: edit("npm run *")}); err != nil {
			t.Errorf("a rule for the call: %v", err)
		}
		check(t, <-end, obstat.Allow)
		check(t, b.decide(bash("npm run test")), obstat.Allow)
	})
}

// TestUnchecked: a rule that another process took without looking is looked at
// before it is written.
func TestUnchecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("npm run build")) }()
		synctest.Wait()
		other := approval.New(b.store, nil)
		if _, err := other.Answer(t.Context(), b.pending().ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Rule: json.RawMessage(`{"tool":"bash","verdict":"allow"}`)}); err != nil {
			t.Fatal(err)
		}
		check(t, <-end, obstat.Deny, "could not be kept", "hand out more")
		if text, _ := os.ReadFile(b.file); string(text) != policy {
			t.Errorf("the file changed:\n%s", text)
		}
	})
}

// TestLosingAlways: whoever is late leaves neither rule nor grant.
func TestLosingAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("npm run build")) }()
		synctest.Wait()
		id := b.pending().ID
		if _, err := b.Broker().Answer(t.Context(), id, approval.Answer{By: "ann", Words: "not now"}); err != nil {
			t.Fatal(err)
		}
		for _, scope := range []approval.Scope{approval.Always, approval.Session} {
			if _, err := b.Broker().Answer(t.Context(), id, approval.Answer{By: "bob", Allow: true, Scope: scope, Offer: 1}); !errors.Is(err, approval.ErrSettled) {
				t.Errorf("%v", err)
			}
		}
		check(t, <-end, obstat.Deny, "refused by ann: not now")
		text, _ := os.ReadFile(b.file)
		if gs, _ := b.store.Grants(t.Context(), time.Now()); string(text) != policy || len(gs) != 0 {
			t.Errorf("%d grants\n%s", len(gs), text)
		}
	})
}

// TestAlwaysWhileBroken: no rule is written into a file that cannot be read, and
// the file stays as its owner left it.
func TestAlwaysWhileBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("npm run build")) }()
		synctest.Wait()
		write(t, b.file, "{ oops")
		id := b.pending().ID
		if _, err := b.Broker().Answer(t.Context(), id, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1}); err == nil {
			t.Error("a rule was accepted into no policy")
		}
		if _, err := b.Broker().Answer(t.Context(), id, approval.Answer{By: "bob", Words: "mend the file"}); err != nil {
			t.Fatal(err)
		}
		check(t, <-end, obstat.Deny, "mend the file")
		if text, _ := os.ReadFile(b.file); string(text) != "{ oops" {
			t.Errorf("%s", text)
		}
	})
}

// TestAlso: an offer says which calls that asked before it would allow.
func TestAlso(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		for _, c := range []string{"npm run build --watch", "npm run test", "npm run build -v; curl x", "npm run build", "npm run build --watch"} {
			check(t, b.answer(bash(c), approval.Answer{}), obstat.Deny)
		}
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("npm run build")) }()
		synctest.Wait()
		r := b.pending()
		if got := strings.Join(r.Offers[0].Also, ", "); got != "npm run build --watch" || len(r.Effects) == 0 {
			t.Errorf("%q, %+v", got, r.Effects)
		}
		if r.Offers[0].File != b.file || r.Offers[0].NoFile != "" {
			t.Errorf("file %q, %q", r.Offers[0].File, r.Offers[0].NoFile)
		}
		<-end
	})
}

// TestOfferWithoutFile: a rule that the policy's file cannot hold is said to be without one,
// with the reason, before anybody accepts it: opencode's webfetch takes one word.
func TestOfferWithoutFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, `{"permission": {"webfetch": "ask"}}`, nil)
		end := make(chan obstat.Decision, 1)
		go func() {
			end <- b.decide(&obstat.Call{Tool: "webfetch", Input: json.RawMessage(`{"url":"https://go.dev/doc","format":"text"}`), Dir: "/src"})
		}()
		synctest.Wait()
		r := b.pending()
		if len(r.Offers) == 0 || r.Offers[0].File != "" || !strings.Contains(r.Offers[0].NoFile, "webfetch") {
			t.Errorf("%+v", r.Offers)
		}
		<-end
	})
}

// TestUncheckedGrant: a rule for the session that another process took without
// looking does not hold.
func TestUncheckedGrant(t *testing.T) {
	for _, rule := range []string{`{"tool":"bash","verdict":"allow"}`, `{"verdict":"allow"}`} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, policy, nil)
			end := make(chan obstat.Decision, 1)
			go func() { end <- b.decide(bash("npm run build")) }()
			synctest.Wait()
			if _, err := approval.New(b.store, nil).Answer(t.Context(), b.pending().ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Session, Rule: json.RawMessage(rule)}); err != nil {
				t.Fatal(err)
			}
			check(t, <-end, obstat.Allow, "for this once")
			check(t, b.decide(bash("make")), obstat.Deny, "nobody answered")
			if gs, _ := b.store.Grants(t.Context(), time.Now()); len(gs) != 0 {
				t.Errorf("%d grants", len(gs))
			}
		})
	}
}

// TestOfferLiftsNoRule: a rule that is accepted for one call lifts no deny rule, nor an ask rule that has not asked, also in a
// notation where the last rule wins.
func TestOfferLiftsNoRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, `{"permission": {"bash": {"*": "ask", "git push *": "deny", "git tag *": "ask"}}}`, nil)
		end := make(chan obstat.Decision, 1)
		go func() { end <- b.decide(bash("git stash list x")) }()
		synctest.Wait()
		r := b.pending()
		rule, err := r.Offers[0].WithPattern("git *")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1, Rule: rule}); err != nil {
			if _, err = b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true}); err != nil {
				t.Fatal(err)
			}
		}
		check(t, <-end, obstat.Allow)
		check(t, b.decide(bash("git push origin x")), obstat.Deny)
		check(t, b.answer(bash("git tag x"), approval.Answer{}), obstat.Deny) // it asks
	})
}

// TestCheckAnswer: a process that knows no policy refuses what no policy can keep.
func TestCheckAnswer(t *testing.T) {
	for rule, says := range map[string]string{
		`{"tool":"bash","field":"command","match":{"wildcard":"make all *"},"verdict":"allow"}`: "",
		`{"tool":"bash","field":"command","match":{"wildcard":"rm *"},"verdict":"deny"}`:        "does not allow anything",
		`{"tool":"bash","field":"command","match":{"wildcard":"*"},"verdict":"allow"}`:          "would hand out more",
		`{"tool":"bash","field":`:                                     "a value is missing",
		`{"tool":"bash","match":{"fullmatch":"("},"verdict":"allow"}`: "fullmatch",
	} {
		err := gate.CheckAnswer(&approval.Request{}, &approval.Answer{By: "ann", Allow: true, Scope: approval.Always, Rule: []byte(rule)})
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if err := gate.CheckAnswer(&approval.Request{}, &approval.Answer{By: "ann", Allow: true}); err != nil {
		t.Error(err)
	}
}
