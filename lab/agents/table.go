package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tableName is where the results are kept.
const tableName = "docs/agents/results.md"

// A lastRun is an agent's last whole run, kept so that one agent can be tried again
// without the others.
type lastRun struct {
	Version string
	Date    string
	Results []Result
}

func (o *options) lastName(a *Agent) string {
	return filepath.Join(o.cache, "results-"+strings.ReplaceAll(a.id(), "/", "-")+".json")
}

// writeTable remembers the results, and puts those of all agents into the docs. Those of a run of some
// scenarios take the place of the agent's older ones, if they are of the same version.
func (o *options) writeTable(agents []Agent, results []Result) error {
	for i := range agents {
		a := &agents[i]
		now := lastRun{Version: o.version(a), Date: time.Now().Format(time.DateOnly)}
		for _, r := range results {
			if r.Agent == a.id() {
				r.Detail, r.Took = "", 0
				now.Results = append(now.Results, r)
			}
		}
		var before lastRun
		if b, err := os.ReadFile(o.lastName(a)); err == nil && o.scenarios != "" && json.Unmarshal(b, &before) == nil && before.Version == now.Version {
			now.Results = mended(before.Results, now.Results)
		}
		b, err := json.Marshal(now)
		if err == nil {
			err = os.WriteFile(o.lastName(a), b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	all := Agents()
	runs := make([]lastRun, len(all))
	for i := range all {
		runs[i] = lastRun{Version: all[i].Version, Date: "not tried"}
		if b, err := os.ReadFile(o.lastName(&all[i])); err == nil {
			if err := json.Unmarshal(b, &runs[i]); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(o.root, filepath.FromSlash(tableName)), []byte(table(all, runs)), 0o644)
}

// mended returns results with newer ones in their places.
func mended(before, now []Result) []Result {
	kept := slices.DeleteFunc(slices.Clone(before), func(old Result) bool {
		return slices.ContainsFunc(now, func(r Result) bool { return r.Scenario == old.Scenario })
	})
	return append(kept, now...)
}

// version returns the version that npm installed, also for a word such as latest.
func (o *options) version(a *Agent) string {
	var p struct {
		Version string `json:"version"`
	}
	b, err := os.ReadFile(filepath.Join(o.packages(a), "node_modules", filepath.FromSlash(a.Package), "package.json"))
	if err != nil || json.Unmarshal(b, &p) != nil || p.Version == "" {
		return a.Version
	}
	return p.Version
}

// table writes the results for people.
func table(agents []Agent, runs []lastRun) string {
	var s strings.Builder
	fmt.Fprintf(&s, `# What the real agents did

Written by `+"`make test-agents`"+` on %s. Each cell is one run of the real agent, as its npm package has it, in a new home and a new project, with nothing but the loopback
interface, against a model server that asks for the tool calls of the row. The hook was put there by `+"`obstat install`"+`, and what happened was read off the file system.
The agents themselves were told to let everything through, so that what was blocked was blocked by obstat; the first row is the same call without obstat.

`, platform())
	s.WriteString("| agent | package | version | tried on |\n|---|---|---|---|\n")
	for i, a := range agents {
		fmt.Fprintf(&s, "| [%s](%s.md) | `%s` | %s | %s |\n", a.Title, a.Name, a.Package, runs[i].Version, runs[i].Date)
	}
	s.WriteString("\n| what the model asks for | policy | has to be |")
	for _, a := range agents {
		s.WriteString(" " + a.Title + " |")
	}
	s.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(agents)) + "\n")
	var notes []string
	for _, row := range scenarios() {
		fmt.Fprintf(&s, "| %s | %s | %s |", row.text, row.policy, [...]string{"run", "blocked", "-"}[row.want])
		for i := range agents {
			s.WriteString(" " + cell(runs[i].Results, row.name, &notes) + " |")
		}
		s.WriteString("\n")
	}
	s.WriteString(`
- **blocked**: the call did not happen. With obstat at work the model was also told so in obstat's words, and the agent went on with its next call.
- Killed or gone, obstat cannot answer; the entry that the installer writes then refuses in its place.
- How long a hook may hang is the agent's own affair: the row has it at three seconds instead of the ten minutes that are installed. obstat does not let it come to that: whatever it
  waits for, it refuses by itself long before, as in the row where its own state takes for ever.
- On a terminal Claude Code (not in bypassPermissions), Gemini CLI (installed with ` + "`--interactive`" + `), Copilot CLI and Qwen Code show the question by themselves, in their bypass modes
  too, and the answer is given there, by keys; for the others it is given at ` + "`obstat ask`" + `. For a call that a hook asks about none of these prompts has a yes for the session that
  counts: they ask again, ` + "`obstat ask`" + ` asks once. [Who is asked, and where](asks.md).
- Through the gateway, somebody at ` + "`obstat ask`" + ` answers while the agent waits. Codex and Copilot CLI decline the gateway's form by themselves without a terminal, which is taken for no answer.
- In Claude Code's default mode the agent itself refuses what nobody answers for, and a change of its own settings; what ran there ran because obstat allowed it.
`)
	for i, n := range notes {
		fmt.Fprintf(&s, "- [%d] %s\n", i+1, n)
	}
	s.WriteString("\n## The policies\n\nEach is in the project's directory, and was accepted with `obstat trust`. Beside the project is another one, `other`, with opencode's notation: everything is allowed but `touch`; the same is in the directory `inner` of the project.\n\n")
	for p := usual; p <= asking; p++ {
		text := otherRules[p]
		switch p {
		case usual:
			text = strings.Join(strings.Fields(rules), " ")
		case lax:
			text = laxRules
		case broken, stuck:
			continue
		}
		fmt.Fprintf(&s, "- **%s**: `%s`\n", p, strings.Join(strings.Fields(text), " "))
	}
	s.WriteString("\nThe first two are turned into a Program, `obstat.json`, by `obstat policy show --format json`. Both switch Claude Code's bypass mode off as a mode of the policy (`disableBypassPermissionsMode`): the agents themselves run in theirs.\n")
	s.WriteString(`
## Not here

- Crush: its npm package has only a script in it that downloads a release when it is installed.
- Cursor, Windsurf: there is no npm package of theirs.
- Cline: there is one, ` + "`cline`" + `, which has not been tried yet.

Their wire formats are held by the fixtures of package agent.
`)
	return s.String()
}

// cell returns one run's result; longer texts go to the notes.
func cell(results []Result, scenario string, notes *[]string) string {
	for i := range results {
		r := &results[i]
		if r.Scenario != scenario {
			continue
		}
		note := r.Broken
		if note == "" {
			note = r.Note
		}
		if note == "" {
			return r.Outcome
		}
		at := slices.Index(*notes, note)
		if at < 0 {
			at = len(*notes)
			*notes = append(*notes, note)
		}
		return fmt.Sprintf("**%s** [%d]", r.Outcome, at+1)
	}
	return "not tried"
}
