package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/store"
)

// A Tool is what the loop of an agent runs.
type Tool func(ctx context.Context, input json.RawMessage) (string, error)

// Guarded returns tool behind g: it runs only what is allowed, with the
// arguments that were allowed, and tells the model why where it does not.
func Guarded(g *gate.Gate, name string, tool Tool, who obstat.Call) Tool {
	return func(ctx context.Context, input json.RawMessage) (string, error) {
		call := who
		call.Tool, call.Input = name, input
		d, err := g.Authorize(ctx, &call, nil) // waits for a human where it has to
		switch {
		case err != nil:
			return "", err
		case d.Verdict != obstat.Allow:
			return "not run: " + d.Reason(), nil
		case d.Input != nil:
			input = d.Input // a human or the policy changed it
		}
		return tool(ctx, input)
	}
}

// Example_toolLoop puts a gate between a model and its tools.
func Example_toolLoop() {
	dir, err := os.MkdirTemp("", "gate")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	rules := `{"permission": {"bash": {"*": "ask", "go test *": "allow", "rm *": "deny"}}}`
	if err := os.WriteFile(filepath.Join(dir, "opencode.json"), []byte(rules), 0o600); err != nil {
		panic(err)
	}
	ctx := context.Background()
	g, err := gate.Open(ctx, gate.Options{
		Policy: &gate.Files{Names: []string{filepath.Join(dir, "opencode.json")}}, // of any dialect
		Store:  store.Memory(),                                                    // or store.Open(ctx, ""), which obstat ask and obstat log read
	})
	if err != nil {
		panic(err)
	}
	run := Guarded(g, "bash", func(_ context.Context, input json.RawMessage) (string, error) {
		return "ran " + string(input), nil
	}, obstat.Call{Agent: "build", Session: "s1", User: "ann", Dir: dir})

	for _, input := range []string{`{"command":"go test ./..."}`, `{"command":"go test ./... && env rm -rf build"}`} {
		out, err := run(ctx, json.RawMessage(input))
		if len(out) > 40 {
			out = out[:40]
		}
		fmt.Println(out, err)
	}
	// Output:
	// ran {"command":"go test ./..."} <nil>
	// not run: deny rule "bash": {"rm *": "den <nil>
}
