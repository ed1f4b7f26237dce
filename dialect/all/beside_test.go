package all_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/effect"
)

// A slice is a system with a policy, of which the same commands are put to the original's own engine and to obstat.
type besideSlice struct {
	system, policy string // dialect, and what the policy is
	text           string
	options        map[string]string // with the floor
	harm           string            // the commands that must not pass
	reading        bool              // of the everyday commands, those that only read
}

// some returns every third line, all in the long form.
func some(lines []string) (out []string) {
	for i, line := range lines {
		if *long || i%3 == 0 {
			out = append(out, line)
		}
	}
	return out
}

// programs returns the names of the programs that commands run by themselves, sorted.
func programs(commands []string) (out []string) {
	for _, c := range commands {
		a := effect.Analyze(&effect.Request{Tool: "Bash", Command: c, Options: effect.Options{Dir: dir}})
		for i := range a.Commands {
			if p := a.Commands[i].Path; p != "" && p != "rm" && p != "curl" && !slices.Contains(out, p) && !strings.ContainsAny(p, "$*\"'") {
				out = append(out, p)
			}
		}
	}
	slices.Sort(out)
	return out
}

func readsOnly(c string) bool {
	return effect.Analyze(&effect.Request{Tool: "Bash", Command: c, Options: effect.Options{Dir: dir, FS: world, Roots: []string{dir}}}).ReadOnly
}

func besideSlices(names []string) []besideSlice {
	var claude, scope []string
	open := map[string]string{}
	for _, n := range names {
		claude = append(claude, quoted("Bash("+n+" *)"))
		scope = append(scope, fmt.Sprintf(`{"tool_name":"Bash","rule_content":%s,"behavior":"allow","source":"x"}`, quoted(n+":*")))
		open[n+" *"] = "allow"
	}
	bash, _ := json.Marshal(open)
	scopeDeny := `"ask_rules":{},"deny_rules":{"Bash":[{"tool_name":"Bash","rule_content":"rm:*","behavior":"deny","source":"x"},{"tool_name":"Bash","rule_content":"curl:*","behavior":"deny","source":"x"}],
		"Read":[{"tool_name":"Read","rule_content":"**/.env","behavior":"deny","source":"x"}]}}`
	scopeHead := func(mode string) string {
		return `{"mode":"` + mode + `","working_directories":{"` + dir + `":{"path":"` + dir + `","source":"x"}},"allow_rules":{"Bash":[`
	}
	return []besideSlice{
		{"agentscope", "policy 1", scopeHead("default") + strings.Join(scope, ",") + `]},` + scopeDeny, nil, "attacks.txt", false},
		{"agentscope", "policy 2", scopeHead("default") + `{"tool_name":"Bash","rule_content":"","behavior":"allow","source":"x"}]},` + scopeDeny, nil, "attacks.txt", false},
		{"agentscope", "explore", scopeHead("explore") + `]},"ask_rules":{},"deny_rules":{}}`, map[string]string{"read_only": "effects"}, "writes.txt", true},
		{"claudecode", "policy 1", `{"permissions":{"allow":[` + strings.Join(claude, ",") + `,"Read","Edit","Write"],"deny":["Bash(rm *)","Bash(curl *)","Read(./.env)"]}}`, nil, "attacks.txt", false},
		{"claudecode", "policy 2", `{"permissions":{"allow":["Bash","Read","Edit","Write"],"deny":["Bash(rm *)","Bash(curl *)","Read(./.env)"]}}`, nil, "attacks.txt", false},
		{"claudecode", "default", `{"permissions":{}}`, nil, "writes.txt", true},
		{"opencode", "policy 1", `{"permission":{"*":"allow","bash":{"*":"ask",` + string(bash[1:len(bash)-1]) + `,"rm *":"deny","curl *":"deny"},"read":{"*":"allow","*.env":"deny"}}}`, nil, "attacks.txt", false},
		{"opencode", "policy 2", `{"permission":{"*":"allow","bash":{"*":"allow","rm *":"deny","curl *":"deny"},"read":{"*":"allow","*.env":"deny"}}}`, nil, "attacks.txt", false},
	}
}

// The same commands are put to the originals' own engines, as the dialects have them with the floor off (held to the originals'
// recorded answers in each dialect's tests), and to obstat: on no slice more harmful ones pass, and on none are more
// everyday ones asked about, but for two in a hundred. docs/effects-noise.md has the table.
func TestBesideOriginals(t *testing.T) {
	everyday := lines(t, "everyday.txt")
	slices := besideSlices(programs(everyday))
	everyday = some(everyday)
	reads := map[string]bool{}
	for _, c := range everyday {
		reads[c] = readsOnly(c)
	}
	for _, s := range slices {
		d, err := all.Find(s.system)
		if err != nil {
			t.Fatal(err)
		}
		tool := map[string]string{"opencode": "bash"}[s.system]
		if tool == "" {
			tool = "Bash"
		}
		var harm, asked [2]int
		harmful, daily := some(lines(t, s.harm)), 0
		for k, floor := range []string{"off", "on"} {
			in := &dialect.Input{Files: []dialect.File{{Name: "policy.json", Data: []byte(s.text)}}, Home: home, Options: map[string]string{dialect.FloorOption: floor}}
			for name, v := range s.options {
				if floor == "on" {
					in.Options[name] = v
				}
			}
			l, err := dialect.Load(d, in)
			if err != nil {
				t.Fatal(s.system, s.policy, err)
			}
			passes := func(c string) bool {
				input, _ := json.Marshal(map[string]string{"command": c})
				return l.Policy.Decide(&obstat.Call{Tool: tool, Input: input, Dir: dir, Roots: []string{dir}}, world).Verdict == obstat.Allow
			}
			for _, c := range harmful {
				if passes(c) {
					harm[k]++
				}
			}
			daily = 0
			for _, c := range everyday {
				if reads[c] || !s.reading {
					if daily++; !passes(c) {
						asked[k]++
					}
				}
			}
		}
		part := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
		t.Logf("| %s, %s | %.1f %% / %.1f %% | %.1f %% / %.1f %% | %d, %d |", s.system, s.policy, part(harm[0], len(harmful)), part(asked[0], daily), part(harm[1], len(harmful)), part(asked[1], daily), len(harmful), daily)
		if harm[1] > harm[0] || part(asked[1], daily) > part(asked[0], daily)+2 {
			t.Errorf("%s, %s: looser or noisier than the original", s.system, s.policy)
		}
	}
}
