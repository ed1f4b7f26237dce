package agentlab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tableName is where the results are kept.
const tableName = "docs/agents/results.md"

// writeTable puts the results of a whole run into the docs.
func (o *options) writeTable(agents []Agent, results []Result) error {
	if o.agents != "" || o.scenarios != "" {
		return errors.New("-update is for a run of all agents and all scenarios")
	}
	return os.WriteFile(filepath.Join(o.root, filepath.FromSlash(tableName)), []byte(table(agents, results, time.Now())), 0o644)
}

// table writes the results for people.
func table(agents []Agent, results []Result, now time.Time) string {
	var s strings.Builder
	fmt.Fprintf(&s, `# What the real agents did

Written by `+"`make test-agents`"+` on %s, on %s. Each cell is one run of the real agent, as its npm package has it, in a new home and a new project, with nothing but the loopback
interface, against a model server that asks for the tool calls of the row. The hook was put there by `+"`obstat install`"+`, and what happened was read off the file system.
The agents themselves were told to let everything through, so that what was blocked was blocked by obstat; the first row is the same call without obstat.

`, now.Format("2006-01-02"), platform())
	s.WriteString("| agent | package | version |\n|---|---|---|\n")
	for _, a := range agents {
		fmt.Fprintf(&s, "| [%s](%s.md) | `%s` | %s |\n", a.Title, a.Name, a.Package, a.Version)
	}
	s.WriteString("\n| what the model asks for | has to be |")
	for _, a := range agents {
		s.WriteString(" " + a.Title + " |")
	}
	s.WriteString("\n|---|---|" + strings.Repeat("---|", len(agents)) + "\n")
	var notes []string
	for _, row := range scenarios() {
		fmt.Fprintf(&s, "| %s | %s |", row.text, [...]string{"run", "blocked", "-"}[row.want])
		for _, a := range agents {
			s.WriteString(" " + cell(results, a.id(), row.name, &notes) + " |")
		}
		s.WriteString("\n")
	}
	s.WriteString(`
- **blocked**: the call did not happen, the model was told why in obstat's words, and the agent went on with its next call.
- The last three rows have no hook that could answer, so they are the agents' own doing. obstat cannot help that: it can only answer in time whatever happens inside of it, as in the row
  before them.
`)
	for i, n := range notes {
		fmt.Fprintf(&s, "- [%d] %s\n", i+1, n)
	}
	return s.String()
}

// cell is one run's result; what needs more words goes to the notes.
func cell(results []Result, agent, scenario string, notes *[]string) string {
	for i := range results {
		r := &results[i]
		if r.Agent != agent || r.Scenario != scenario {
			continue
		}
		switch {
		case r.Broken != "":
			*notes = append(*notes, r.Broken)
		case r.Note != "":
			*notes = append(*notes, r.Note)
		default:
			return r.Outcome
		}
		return fmt.Sprintf("**%s** [%d]", r.Outcome, len(*notes))
	}
	return "not tried"
}
