// Package initial drafts a project's first policy: a preset, with rules for what the project has.
//
// It owns what is looked for (languages, scripts, Makefile targets, denials of agents' own files) and
// how the draft is put together. It decides nothing and writes nothing: a person sees the draft first.
package initial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

// A Line is a rule of a draft.
type Line struct {
	List     string // allow, ask or deny
	Sentence string
	Why      string // a comment above it, and above those that follow with the same one
}

// A Draft is the text of a policy.
type Draft struct {
	Text string
	// Skipped are lines that could not be said beside the others, and why.
	Skipped []string
}

// Write drafts a policy of a preset with lines added to its lists; what careful would allow is there as a
// comment. A line with which the policy
// would not load, or that another says already, is left out.
func Write(preset string, heading []string, lines []Line) (*Draft, error) {
	text := native.Preset(preset)
	if text == "" {
		return nil, fmt.Errorf("there is no preset %q; the presets are %s", preset, strings.Join(native.Presets(), ", "))
	}
	d := &Draft{Text: text}
	var said []string
	last := map[string]string{}
	for _, l := range lines {
		if key := l.List + " " + l.Sentence; slices.Contains(said, key) || strings.Contains(d.Text, " "+strings.TrimPrefix(l.Sentence, "run ")+",") && strings.HasPrefix(l.Sentence, "run ") {
			continue
		} else {
			said = append(said, key)
		}
		block := "  - " + scalar(l.Sentence) + "\n"
		if preset == native.Careful && l.List == "allow" {
			block = "  # - " + scalar(l.Sentence) + "\n" // to be thought about
		}
		if l.Why != "" && last[l.List] != l.Why {
			block = "  # " + l.Why + "\n" + block
		}
		next := insert(d.Text, l.List, block)
		if err := loads(next); err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			d.Skipped = append(d.Skipped, l.List+" "+l.Sentence+": "+first)
			continue
		}
		d.Text, last[l.List] = next, l.Why
	}
	for i := len(heading) - 1; i >= 0; i-- {
		d.Text = strings.TrimSuffix("# "+heading[i], " ") + "\n" + d.Text
	}
	return d, loads(d.Text)
}

func loads(text string) error {
	_, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte(text)}}})
	return err
}

// scalar writes a sentence so that YAML reads it as one text.
func scalar(s string) string {
	if strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasSuffix(s, ":") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return s
}

// insert adds lines at the end of a list, which it begins where there is none.
func insert(text, list, block string) string {
	lines := strings.SplitAfter(text, "\n")
	at := slices.Index(lines, list+":\n")
	if at < 0 {
		return strings.TrimRight(text, "\n") + "\n\n" + list + ":\n" + block
	}
	end := at + 1
	for i := end; i < len(lines) && (lines[i] == "\n" || strings.HasPrefix(lines[i], " ")); i++ {
		if lines[i] != "\n" {
			end = i + 1
		}
	}
	return strings.Join(lines[:end], "") + block + strings.Join(lines[end:], "")
}
