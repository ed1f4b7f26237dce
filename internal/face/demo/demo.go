// Package demo is a sample agent at work on a sample project, for people who
// want to see a gate before they trust one with their own.
//
// It owns the project, its policy and the agent's calls, in order. The gate,
// the store and the ledger are the real ones; only the commands are not run.
// The face that shows it lays it out.
package demo

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/internal/keep/statedir"
)

//go:embed all:project
var project embed.FS

//go:embed steps.json
var steps []byte

// A Step is one thing that the agent tries.
type Step struct {
	Says  string            `json:"says"` // the agent's own words for the step
	Tool  string            `json:"tool"`
	Input map[string]string `json:"input"`
	Shows string            `json:"shows"` // the point that the answer makes
	// Answer is typed where the step asks and no human watches.
	Answer string `json:"answer"`
}

// Steps returns the agent's calls, in order.
func Steps() (out []Step, err error) {
	return out, json.Unmarshal(steps, &out)
}

// A Run is the demo under way.
type Run struct {
	Dir   string // of the project
	Store *sqlite.Store
	Guard *gate.Gate
}

// Start makes the project and its store in dir and opens the gate; asked is
// told of every request.
func Start(ctx context.Context, dir string, asked func(*approval.Request)) (*Run, error) {
	r := &Run{Dir: filepath.Join(dir, "shop")}
	if err := unpack(r.Dir); err != nil {
		return nil, err
	}
	var err error
	if r.Store, err = sqlite.Open(ctx, statedir.Store(dir)); err != nil {
		return nil, err
	}
	r.Guard, err = gate.Open(ctx, gate.Options{Policy: &gate.Files{Dir: r.Dir, NoPins: true}, Store: r.Store,
		Approval: approval.Options{Asked: asked, Timeout: 10 * time.Minute, Poll: 50 * time.Millisecond}})
	if err != nil {
		r.Store.Close()
		return nil, err
	}
	return r, nil
}

// unpack writes the sample project.
func unpack(dir string) error {
	sub, err := fs.Sub(project, "project")
	if err == nil {
		err = os.CopyFS(dir, sub)
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, "env.sample"), filepath.Join(dir, ".env"))
	}
	return err
}

// Call returns the call of a step.
func (r *Run) Call(s *Step) (*obstat.Call, error) {
	input := map[string]string{}
	for k, v := range s.Input {
		if k == "filePath" {
			v = filepath.Join(r.Dir, filepath.FromSlash(v))
		}
		input[k] = v
	}
	raw, err := json.Marshal(input)
	return &obstat.Call{Tool: s.Tool, Input: raw, Agent: "build", Session: "demo", User: "you", Dir: r.Dir,
		Roots: []string{r.Dir}}, err
}

// Do carries out an allowed step: edits are made,
// commands are not run.
func (r *Run) Do(s *Step, input json.RawMessage) error {
	if s.Tool != "edit" {
		return nil
	}
	var in struct{ FilePath, OldString, NewString string }
	if err := json.Unmarshal(input, &in); err != nil {
		return err
	}
	// The human may have edited the arguments: touch only files of this project.
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(r.Dir, in.FilePath)
	if err != nil {
		return err
	}
	data, err := root.ReadFile(rel)
	if err != nil {
		return err
	}
	return root.WriteFile(rel, bytes.Replace(data, []byte(in.OldString), []byte(in.NewString), 1), 0o644)
}

// Close ends the demo and leaves its files in place.
func (r *Run) Close() error {
	return r.Store.Close()
}
