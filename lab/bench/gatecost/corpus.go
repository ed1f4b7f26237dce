package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/agent"
)

//go:embed everyday.jsonl
var everyday []byte

// commands returns the shell commands of the captured calls and of everyday work.
func commands() ([]string, error) {
	out, err := captured()
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(everyday))
	for lines.Scan() {
		var c string
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	slices.Sort(out)
	return slices.Compact(out), lines.Err()
}

// captured returns the commands of the calls that agents made in front of a hook.
func captured() ([]string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/obstat/obstat").Output()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(strings.TrimSpace(string(root)), "agent", "testdata", "captured.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var out []string
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Stdin json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		e, err := agent.Decode("", c.Stdin, func(string) string { return "" })
		if err != nil || e.Call == nil {
			continue // what is no call
		}
		var in struct{ Command string }
		if json.Unmarshal(e.Call.Input, &in) == nil && in.Command != "" {
			out = append(out, in.Command)
		}
	}
	return out, lines.Err()
}
