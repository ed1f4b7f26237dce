package agents

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/internal/scripted"
)

// pairsName is the file of an agent's pairs.
func (o *options) pairsName(agent string) string { return PairsFile(o.root, agent) }

// PairsFile is where the pairs of an agent are kept below the checkout's root.
func PairsFile(root, agent string) string {
	return filepath.Join(root, "lab", "agents", "testdata", "pairs-"+agent+".jsonl.gz")
}

// PairAgents returns the agents of which there are pairs.
func PairAgents() []string {
	var out []string
	for _, f := range fieldsOf() {
		out = append(out, f.agent)
	}
	return out
}

// ReadPairs reads the pairs of an agent.
func ReadPairs(name string) ([]Pair, error) { return readGzip[Pair](name) }

// readGzip reads compressed lines of JSON.
func readGzip[T any](name string) (out []T, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	eachLine(z, func(line string) {
		var v T
		if bad := json.Unmarshal([]byte(line), &v); bad != nil {
			err = fmt.Errorf("%s: %w", name, bad)
		}
		out = append(out, v)
	})
	return out, err
}

// writeGzip writes values as compressed lines of JSON.
func writeGzip[T any](name string, values ...T) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(z)
	for i := range values {
		err = errors.Join(err, enc.Encode(&values[i]))
	}
	if err = errors.Join(err, z.Close(), os.MkdirAll(filepath.Dir(name), 0o755)); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// programsFile is where the Programs of the cells are kept, by agent.
func programsFile(root string) string {
	return filepath.Join(root, "lab", "agents", "testdata", "pairs-programs.json.gz")
}

// Lay makes the files of a pair's run in a directory, as they were when obstat's hook was called: home, with
// the agent's own rules, and project, with the policy.
func (p *Pair) Lay(dir string, programs map[string]string) error {
	f := fieldOf(p.Agent)
	r := &run{dir: dir, lab: "lab", model: scripted.Idle()}
	a := &Agent{Name: p.Agent, driver: f.drive(&p.Cell)}
	if err := r.prepareCell(context.Background(), a, &p.Cell, false); err != nil {
		return err
	}
	name, text := p.policyFile(programs)
	if name == "" {
		return nil
	}
	return r.write(filepath.Join(r.project(), name), text)
}

// In returns a call of the hook as it was made, for a run in dir.
func (p *Passed) In(dir string) Passed {
	var out Passed
	at := func(s string) string { return strings.ReplaceAll(s, runDir, dir) }
	for _, v := range p.Args {
		out.Args = append(out.Args, at(v))
	}
	for _, v := range p.Env {
		out.Env = append(out.Env, at(v))
	}
	out.Stdin = at(p.Stdin)
	return out
}

// Effect returns the meaning of the hook's answer to an agent: allow, ask, deny, or none where it goes on as
// if there were no hook.
func Effect(stdout string, exit int) string {
	if exit != 0 {
		return "deny"
	}
	var said struct {
		Decision string `json:"decision"`
		Behavior string `json:"behavior"`
		Verdict  string `json:"permissionDecision"`
		Specific struct {
			Verdict  string `json:"permissionDecision"`
			Decision struct {
				Behavior string `json:"behavior"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if strings.TrimSpace(stdout) != "" && json.Unmarshal([]byte(stdout), &said) != nil {
		return "garbled"
	}
	return cmp.Or(said.Specific.Verdict, said.Specific.Decision.Behavior, said.Verdict, said.Behavior, said.Decision,
		"none")
}
