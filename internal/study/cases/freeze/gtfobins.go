package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
)

// denied is a policy that allows everything but the things that GTFOBins shows how to do: read .env, write git's
// hooks, run sh or rm.
const denied = `{"permissions":{"allow":["Bash","Read","Edit","Write"],` +
	`"deny":["Bash(sh:*)","Bash(rm:*)","Read(.env)","Edit(.git/hooks/**)"]}}`

// placed are the places that GTFOBins leaves open.
var placed = strings.NewReplacer("/path/to/input-file", ".env", "/path/to/output-file", ".git/hooks/z",
	"/path/to/command", "/bin/rm a.txt", "/path/to/temp-file", "t")

// A trick is one use of a program.
type trick struct{ program, use, code string }

// gtfobins prints, for a checkout of GTFOBins, how many of its tricks that name something denied each policy and each
// guard beside allows, by their use, and which ones pass.
func gtfobins(out io.Writer, dir string, beside []judge) error {
	list, err := tricks(dir)
	if err != nil {
		return err
	}
	judges, err := presetJudges(&obstat.Snapshot{HomeDir: "/home/u"})
	if err != nil {
		return err
	}
	butFour, err := claude(denied)
	if err != nil {
		return err
	}
	const mostOpen = "all but four"
	judges = append(judges, policyJudge(mostOpen, butFour, &obstat.Snapshot{HomeDir: "/home/u"}))
	counts := newTally(append(judges, beside...))
	var passing []string
	for _, t := range list {
		by, err := counts.add(t.use, t.code)
		if err != nil {
			return err
		}
		if slices.Contains(by, mostOpen) {
			passing = append(passing, fmt.Sprintf("- %s, %s: `%s`", t.program, t.use, oneLine(t.code)))
		}
	}
	counts.print(out, "use")
	fmt.Fprintf(out, "Allowed where all but four things are:\n\n%s\n", strings.Join(passing, "\n"))
	return nil
}

// presetJudges returns obstat's presets, in a project of the world.
func presetJudges(world obstat.World) (out []judge, err error) {
	under, err := policies()
	if err != nil {
		return nil, err
	}
	for i, name := range native.Presets() {
		out = append(out, policyJudge(name, under[i], world))
	}
	return out, nil
}

// claude returns a policy in the notation of Claude Code.
func claude(text string) (*dialect.Loaded, error) {
	d, err := all.Find("claudecode")
	if err != nil {
		return nil, err
	}
	files := []dialect.File{{Name: "settings.json", Data: []byte(text)}}
	return dialect.Load(d, &dialect.Input{Home: "/home/u", Files: files})
}

// tricks reads the files of a checkout. Of each only the lines that are code count, and of those the ones that name
// something denied.
func tricks(dir string) (out []trick, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "_gtfobins", "*"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s: no checkout of GTFOBins: %v", dir, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, t := range tricksIn(filepath.Base(file), string(data)) {
			if namesDenied(t.code) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

func namesDenied(code string) bool {
	for _, name := range []string{".env", ".git/hooks", "/bin/sh", "/bin/rm"} {
		if strings.Contains(code, name) {
			return true
		}
	}
	return false
}

// tricksIn reads one file: `  shell:` begins a use, `code: |-` a text that is indented deeper.
func tricksIn(program, text string) (out []trick) {
	use, at, lines := "", 0, strings.Split(text, "\n")
	for at < len(lines) {
		line := lines[at]
		at++
		if name, ok := strings.CutSuffix(strings.TrimRight(line, " "), ":"); ok && indent(line) == 2 {
			use = strings.TrimSpace(name)
		}
		if !strings.HasSuffix(line, "code: |-") {
			continue
		}
		var code []string
		depth := 0
		for at < len(lines) && (lines[at] == "" || indent(lines[at]) >= max(depth, indent(line)+2)) {
			if depth == 0 {
				depth = indent(lines[at])
			}
			code = append(code, lines[at][min(depth, len(lines[at])):])
			at++
		}
		out = append(out, trick{program, use, placed.Replace(strings.TrimSpace(strings.Join(code, "\n")))})
	}
	return out
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
