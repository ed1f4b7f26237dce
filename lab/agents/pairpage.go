package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pairPage is where the pairs are told of.
const pairPage = "docs/agents/never-looser.md"

// writePairPage puts the kept pairs of all agents into the docs.
func (o *options) writePairPage() error {
	text, err := PairPage(o.root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.root, filepath.FromSlash(pairPage)), []byte(text), 0o644)
}

// PairPage writes the page from the kept pairs below the checkout's root.
func PairPage(root string) (string, error) {
	var s strings.Builder
	s.WriteString(pairHead)
	var kept [][]Pair
	s.WriteString("\n| agent | package | version | pairs |\n|---|---|---|---|\n")
	total := 0
	for _, name := range PairAgents() {
		pairs, err := ReadPairs(PairsFile(root, name))
		if err != nil {
			return "", err
		}
		a := agentOf(name)
		fmt.Fprintf(&s, "| [%s](%s.md) | `%s` | %s | %d |\n", a.Title, a.Name, a.Package, pairs[0].Version, len(pairs))
		kept, total = append(kept, pairs), total+len(pairs)
	}
	fmt.Fprintf(&s, "\nSeed %d, %d pairs. `make test-agents` chooses the same cells, and runs what is not kept.\n", pairSeed, total)
	for _, pairs := range kept {
		writeCounts(&s, pairs)
	}
	writeExceptions(&s, slices.Concat(kept...))
	rows, err := frameworkRows(root)
	if err != nil {
		return "", err
	}
	s.WriteString(rows)
	s.WriteString(pairFoot)
	return s.String(), nil
}

const pairHead = `# Never looser than without it

Written by ` + "`make test-agents`" + `. Each pair is two runs of the real agent with the same scripted model, which asks for one call: one run without obstat, one with its hook
and a policy. The calls that run with obstat have to be among those that run without it, but for calls that the agent would only have asked about and that an allow rule
in force covers. What an agent's mode, rule, classifier, reviewer or sandbox refuses, and what the user has told the agent to ask about, does not run because of obstat,
unless a rule says ` + "`over: auto-mode`" + ` or ` + "`over: reviewer`" + `.
`

const pairFoot = `
## How to read it

- The pairs are chosen so that every two of mode, own rule, kind of call and policy meet; besides, where obstat allows everything, every mode meets every kind of call
  without an own rule, and every own rule meets every kind of call.
- **own rule**: the user has told the agent itself to deny, to ask about or to allow such a call, in the agent's notation. **kind of call**: a command that reads, one that
  writes, the file tool that creates and that edits, a tool of an MCP server, and the last two beside the project; for Codex also a command that asks to leave the sandbox.
- **policy** of obstat: an ` + "`obstat.yaml`" + ` that allows, asks about or denies everything; a Program, from the agent's notation, that allows everything; none but the
  agent's own rules; and, where there is a classifier or reviewer, allow rules with ` + "`over`" + `.
- **answered**: it ran only with obstat; the agent would have asked, nobody sat at it, and a rule of obstat's allows the call. Claude Code's ` + "`dontAsk`" + ` counts as asking.
- A run in which the agent did not take the call up counts as broken, not as fine. Whether a call ran is read off the file system, and for reading off what the model got.
- Gemini CLI's file tools refuse every path outside of the workspace in every mode, and without a terminal it does not offer a tool that it would ask about.
- What obstat's hook was given in these runs is kept, and ` + "`make test`" + ` gives it to the hook again: an answer that has become another one fails there.
`

// counted are the columns of the table.
var counted = []PairVerdict{RanBoth, RanNeither, OnlyWithout, Answered, Outranked, Looser, Broken}

// writeCounts writes an agent's table: a row for each mode and own rule.
func writeCounts(s *strings.Builder, pairs []Pair) {
	title := agentOf(pairs[0].Agent).Title
	fmt.Fprintf(s, "\n## %s\n\n| mode | own rule | pairs | ran in both | in neither | only without | only with: answered | only with: `over` | only with: **looser** | broken |\n", title)
	s.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	f := fieldOf(pairs[0].Agent)
	sum := map[PairVerdict]int{}
	for _, mode := range f.modes {
		for _, rule := range f.rules {
			n := map[PairVerdict]int{}
			for i := range pairs {
				if p := &pairs[i]; p.Mode == mode && p.Rule == rule {
					n[p.Judge()]++
					sum[p.Judge()]++
				}
			}
			writeRow(s, mode, rule, n)
		}
	}
	writeRow(s, "**all**", "", sum)
}

// writeRow writes one row, if it counts anything.
func writeRow(s *strings.Builder, mode, rule string, n map[PairVerdict]int) {
	total := 0
	for _, v := range counted {
		total += n[v]
	}
	if total == 0 {
		return
	}
	fmt.Fprintf(s, "| %s | %s | %d |", mode, rule, total)
	for _, v := range counted {
		fmt.Fprintf(s, " %d |", n[v])
	}
	s.WriteString("\n")
}

// writeExceptions lists the calls that ran only with obstat by a rule that says so, and those that did not hold.
func writeExceptions(s *strings.Builder, pairs []Pair) {
	s.WriteString("\n## Ran only with obstat, by a rule that says so\n\n| cell | without obstat the model was told |\n|---|---|\n")
	for i := range pairs {
		if p := &pairs[i]; p.Judge() == Outranked {
			fmt.Fprintf(s, "| %s | %s |\n", p.Cell.String(), quoted(p.Without.Words))
		}
	}
	var bad []string
	for i := range pairs {
		if p := &pairs[i]; p.Judge() == Looser || p.Judge() == Broken {
			words := p.Problem
			if p.Without != nil {
				words += " " + p.Without.Words
			}
			bad = append(bad, fmt.Sprintf("| %s | %s | %s |\n", p.Judge(), p.Cell.String(), quoted(words)))
		}
	}
	if bad != nil {
		s.WriteString("\n## Does not hold\n\n| | cell | without obstat the model was told |\n|---|---|---|\n" + strings.Join(bad, ""))
	}
}

// quoted makes words fit for a cell of a table.
func quoted(words string) string {
	const most = 160
	if len(words) > most {
		words = strings.ToValidUTF8(words[:most], "") + "..."
	}
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ").Replace(strings.TrimSpace(words))
}

// A frameworkRow is one pair of runs of a framework: docs/contributing/never-looser.md describes the files.
type frameworkRow struct {
	Framework string `json:"framework"`
	Version   string `json:"version"`
	Mode      string `json:"mode"`
	Rule      string `json:"rule"`
	Call      string `json:"call"`
	Policy    string `json:"policy"`
	// Without and With are ran, asked or refused.
	Without string `json:"without"`
	With    string `json:"with"`
}

// frameworkRows writes the part about frameworks, of which the suites in sdk/ keep a file each.
func frameworkRows(root string) (string, error) {
	names, err := filepath.Glob(filepath.Join(root, "sdk", "*", "never-looser.json"))
	if err != nil || names == nil {
		return "", err
	}
	var s strings.Builder
	s.WriteString("\n## Frameworks\n\nSeen by the suites of the SDKs (`make test-sdk`): the same calls under the framework's own modes, rules and approvals, without obstat and with it.\n\n")
	s.WriteString("| framework | version | language | pairs | ran in both | in neither | only without | only with: answered | only with: **looser** |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		var rows []frameworkRow
		if err := json.Unmarshal(b, &rows); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		language := filepath.Base(filepath.Dir(name))
		if err := writeFrameworks(&s, language, rows); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	return s.String(), nil
}

// writeFrameworks writes a row of the table for each framework and version.
func writeFrameworks(s *strings.Builder, language string, rows []frameworkRow) error {
	counts := map[[2]string]map[PairVerdict]int{}
	var order [][2]string
	for i := range rows {
		v, err := rows[i].judge()
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		which := [2]string{rows[i].Framework, rows[i].Version}
		if counts[which] == nil {
			counts[which], order = map[PairVerdict]int{}, append(order, which)
		}
		counts[which][v]++
	}
	for _, which := range order {
		n, total := counts[which], 0
		for _, c := range n {
			total += c
		}
		fmt.Fprintf(s, "| %s | %s | %s | %d | %d | %d | %d | %d | %d |\n", which[0], which[1], language, total,
			n[RanBoth], n[RanNeither], n[OnlyWithout], n[Answered], n[Looser])
	}
	return nil
}

// judge compares the two runs of a row, like [Pair.Judge].
func (r *frameworkRow) judge() (PairVerdict, error) {
	for _, word := range []string{r.Without, r.With} {
		if word != "ran" && word != "asked" && word != "refused" {
			return Broken, errors.New("without and with are ran, asked or refused, not " + word)
		}
	}
	without, with := r.Without == "ran", r.With == "ran"
	switch {
	case without && with:
		return RanBoth, nil
	case without:
		return OnlyWithout, nil
	case !with:
		return RanNeither, nil
	case r.Without == "asked" && !r.wanted() && (r.Policy == "allows all" || r.Call == "safe"):
		return Answered, nil
	}
	return Looser, nil
}

// wanted tells whether a rule or an approval of the user's own wants a person: not `none`, nor what a tool is by
// nature.
func (r *frameworkRow) wanted() bool {
	return !slices.Contains([]string{"none", "allow", "read-only", "mutating"}, r.Rule)
}
