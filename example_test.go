package obstat_test

import (
	"encoding/json"
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/pattern"
)

// git is a Program written in Go: `git push` is denied, other git commands are
// allowed, the rest asks.
var git = &obstat.Program{
	Mode: "default",
	Rules: map[string][]obstat.Rule{"rules": {
		{Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Text{Flavour: pattern.Wildcard, Text: "git push *"}, Verdict: obstat.Deny, Reason: "a human pushes"},
		{Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Text{Flavour: pattern.Wildcard, Text: "git *"}, Verdict: obstat.Allow},
		{Tool: obstat.Is("Delete"), Verdict: obstat.Deny},
	}},
	Pipelines: map[obstat.Mode]obstat.Pipeline{"default": {
		Stages:  []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules"}},
		Default: obstat.Ask,
	}},
}

func command(text string) *obstat.Call {
	input, _ := json.Marshal(map[string]string{"command": text})
	return &obstat.Call{Tool: "Bash", Input: input, Dir: "/work"}
}

// A Program written in Go decides calls. The floor is on: a second command is not
// allowed by the rule for the first.
func Example() {
	pol, err := obstat.Compile(git, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"git status", "git push origin", "make", "git status; rm -rf ~"} {
		d := pol.Decide(command(text), obstat.OS{})
		fmt.Printf("%s: %v, %s\n", text, d.Verdict, d.Reason())
	}
	// Output:
	// git status: allow, allow rule Bash(git *)
	// git push origin: deny, deny rule Bash(git push *): a human pushes
	// make: ask, Bash: no rule is about it, and mode default asks then
	// git status; rm -rf ~: ask, rm -rf ~: no rule is about it, and every command that would run is judged by itself
}

// A policy file of any dialect is loaded and decides.
func Example_file() {
	file := dialect.File{Name: ".claude/settings.json", Data: []byte(`{"permissions": {"allow": ["Bash(go test *)"], "deny": ["Bash(rm *)"]}}`)}
	d, err := all.Detect(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	loaded, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{file}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"go test ./...", "go test ./... && rm -rf out"} {
		answer := loaded.Policy.Decide(command(text), obstat.OS{})
		fmt.Printf("%s: %v (%s)\n", text, answer.Verdict, d.Name())
	}
	// Output:
	// go test ./...: allow (claudecode)
	// go test ./... && rm -rf out: deny (claudecode)
}

// Explain decides like Decide and tells what every stage did.
func ExamplePolicy_Explain() {
	pol, err := obstat.Compile(git, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, trace := pol.Explain(command("git push origin"), obstat.OS{})
	fmt.Println(d.Verdict, "by", d.Stage)
	for _, q := range trace.Questions {
		for _, s := range q.Steps {
			fmt.Printf("%s %s: %d rules match, settled %v as %v\n", s.Kind, s.Stage, len(s.Hits), s.Settled, s.Verdict)
		}
	}
	// Output:
	// deny by rules
	// match rules: 2 rules match, settled true as deny
}

// A human accepts an offered rule; the policy with it settles the next such call.
func ExamplePolicy_With() {
	pol, err := obstat.Compile(git, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	offer := obstat.Offer{List: "rules", Scope: "session", Rule: obstat.Rule{Tool: obstat.Is("Bash"), Field: "command",
		Pattern: obstat.Text{Flavour: pattern.Wildcard, Text: "go test *"}, Verdict: obstat.Allow}}
	with, err := pol.With(offer)
	if err != nil {
		fmt.Println(err)
		return
	}
	call := command("go test ./...")
	fmt.Println(pol.Decide(call, nil).Verdict, with.Decide(call, nil).Verdict)
	// Output: ask allow
}

// Tools that can only be denied need not be shown to the model.
func ExamplePolicy_Reach() {
	pol, err := obstat.Compile(git, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range []string{"Bash", "Read", "Delete"} {
		if r := pol.Reach(tool, ""); r.Loosest != obstat.Deny {
			fmt.Println(tool, "can get", r.Strictest, "to", r.Loosest)
		}
	}
	// Output:
	// Bash can get deny to allow
	// Read can get ask to ask
}
