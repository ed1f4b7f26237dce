package suggest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/study/suggest"
	"github.com/obstat/obstat/ledger"
)

var drafts = flag.Int("drafts", 2, "how many generated policies rules are suggested for")

// TestSuggestNeverLooser: people have approved everything, again and again. With all suggestions accepted, no call of a deny
// rule, nor of an ask rule for something in particular, is decided more freely.
func TestSuggestNeverLooser(t *testing.T) {
	programs := []string{"npm run build", "npm run test", "npm publish", "git push origin main", "git push origin x", "make all", "make clean", "docker run a", "docker run b", "cargo build", "cargo publish", "go test ./a", "go test ./b"}
	suggested, tried := 0, 0
	for seed := range *drafts {
		r := rand.New(rand.NewPCG(uint64(seed), 32))
		rule := func() string {
			words := strings.Fields(programs[r.IntN(len(programs))])
			return strings.Join(words[:1+r.IntN(2)], " ")
		}
		texts := [][2]string{
			{".claude/settings.json", fmt.Sprintf(`{"permissions": {"deny": ["Bash(%s:*)"], "ask": ["Bash(%s *)", "Bash(%s:*)"]}}`, rule(), rule(), rule())},
			{"opencode.json", fmt.Sprintf(`{"permission": {"bash": {"*": "ask", "%s *": "ask", "%s x *": "deny", "%s": "ask"}}}`, rule(), rule(), rule())},
			{"obstat.yaml", fmt.Sprintf("version: 1\nallow:\n  - read workspace\nask:\n  - run %s\ndeny:\n  - run %s\n", "tar "+rule(), rule())},
		}
		for _, text := range texts {
			l := load(t, text[0], text[1])
			var records []*ledger.Record
			for i := range 60 {
				command := programs[i%len(programs)]
				input, _ := json.Marshal(map[string]string{"command": fmt.Sprint(command, " ", strings.Repeat("v", i/len(programs)))})
				tool := "Bash"
				if text[0] == "opencode.json" {
					tool = "bash"
				}
				call := &obstat.Call{Tool: tool, Input: input, Dir: project, Roots: []string{project}}
				d := l.Policy.Decide(call, world)
				if d.Verdict != obstat.Ask {
					continue
				}
				detail, _ := json.Marshal(ledger.Circumstances{Said: d.Verdict, Roots: call.Roots})
				records = append(records, &ledger.Record{Seq: uint64(i + 1), Kind: ledger.Decision, Tool: call.Tool, Input: input, Dir: project, Verdict: obstat.Allow.String(), Detail: detail, World: world})
			}
			rep, err := suggest.Suggest(l, seq(records), nil)
			if err != nil {
				t.Fatal(err)
			}
			var offers []obstat.Offer
			for i := range rep.List {
				offers = append(offers, rep.List[i].Offers...)
			}
			if suggested += len(offers); len(offers) == 0 {
				continue
			}
			pol, err := l.Written(l.Into(), offers...)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range programs {
				for _, form := range []string{"%s", "%s x", "env A=1 %s x", "true && %s"} {
					input, _ := json.Marshal(map[string]string{"command": fmt.Sprintf(form, p)})
					call := &obstat.Call{Tool: "Bash", Input: input, Dir: project, Roots: []string{project}}
					a, b := l.Policy.Decide(call, world), pol.Decide(call, world)
					if a.Rule == nil || a.Verdict == obstat.Allow || a.Verdict == obstat.Ask && strings.Contains(a.Rule.String(), `"*"`) {
						continue
					}
					if tried++; b.Verdict > a.Verdict {
						t.Errorf("%d %s: %s: %s, was %s: %s; now: %s", seed, text[1], input, b.Verdict, a.Verdict, a.Reason(), b.Reason())
					}
				}
			}
		}
	}
	t.Logf("%d rules suggested, %d calls of rules", suggested, tried)
	if suggested == 0 || tried == 0 {
		t.Error("nothing was suggested, or no rule was tried")
	}
}
