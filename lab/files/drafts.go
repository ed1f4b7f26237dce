package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// most is how many projects get a draft.
const most = 150

// runInit makes a project of each file that has calls, has obstat draft a policy there, and decides the calls with it.
func (l *lab) runInit(program, place string) error {
	list, err := l.calls()
	if err != nil {
		return err
	}
	with := map[string]int{}
	for i := range list {
		with[list[i].File]++
	}
	dir, err := os.MkdirTemp("", "files-init-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n, failed, looser, allowed, kept := 0, 0, 0, 0, 0
	all := l.entries()
	for i := range all {
		e := &all[i]
		name := e.repo + "/" + e.path
		usual := strings.Count(e.path, "/") < 2 || strings.HasPrefix(e.path, ".codex/rules")
		path := read(e.path)
		if with[name] == 0 || n == most || !usual || path == "" {
			continue
		}
		data, err := os.ReadFile(e.in(l.cache))
		if err != nil {
			return err
		}
		was, err := load(e, data)
		if err != nil {
			continue
		}
		n++
		at := filepath.Join(dir, fmt.Sprint(n))
		text, err := draftIn(program, at, dir, path, data)
		if err != nil {
			failed++
			fmt.Printf("%s: %s\n", name, short(err.Error()))
			continue
		}
		now, err := dialect.Load(native.Dialect{}, &dialect.Input{Home: world.HomeDir,
			Files: []dialect.File{{Name: filepath.Join(place, native.File), Data: []byte(text)}}})
		if err != nil {
			return err
		}
		a, k, x := l.against(name, list, was.Policy, now.Policy)
		allowed, kept, looser = allowed+a, kept+k, looser+x
	}
	fmt.Printf("init: %d projects, %d without a draft; %d calls looser; %d of %d allowed calls still allowed (%.1f %%)\n", n, failed,
		looser, kept, allowed, 100*float64(kept)/float64(max(allowed, 1)))
	return nil
}

// read returns where the agent reads a file that was kept elsewhere, `claude/settings.json` of dotfiles in
// `.claude/settings.json`; "" for a file that no project has.
func read(path string) string {
	dir, base := filepath.Split(path)
	switch {
	case strings.HasPrefix(path, "."):
		return path
	case base == "cli-config.json":
		return ""
	case dir != "" && !strings.Contains(dir[:len(dir)-1], "/"):
		return "." + strings.TrimPrefix(path, "dot_")
	}
	return path
}

// draftIn runs obstat init in a new project with one file in it, and returns the draft.
func draftIn(program, at, home, path string, data []byte) (string, error) {
	file := filepath.Join(at, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command(program, "init", "--dry-run", "--json", "-C", at)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(home, "home"), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var draft struct {
		Text   string
		Looser []json.RawMessage
	}
	if err != nil || json.Unmarshal(out, &draft) != nil {
		return "", fmt.Errorf("%v: %s%s", err, stderr.String(), told(out))
	}
	if len(draft.Looser) > 0 {
		fmt.Printf("LOOSER by its own word: %s: %d, %s\n", path, len(draft.Looser), short(string(draft.Looser[0])))
	}
	return draft.Text, nil
}
