package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/study/convert"
)

// exportOptions are the options of obstat policy export.
type exportOptions struct {
	*Factory
	Policy policyOptions
	To     string `flag:"to" words:"claude-code codex cursor gemini opencode"`
	Check  bool   `flag:"check"`
	Write  bool   `flag:"write"`
	Most   int    `flag:"most"`
}

func newExport(f *Factory) *cobra.Command {
	o := &exportOptions{Factory: f, Most: 10}
	return command("policy export", some(0, -1), o, o.run)
}

func (o *exportOptions) run(_ context.Context, files []string) error {
	targets := convert.Targets()
	target, known := targets[o.To]
	if !known {
		return usagef("--to takes %s, not %q", strings.Join(slices.Sorted(maps.Keys(targets)), ", "), o.To)
	}
	o.Policy.Files, o.Policy.Parse = files, true
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	if p.Dialect.Name() != native.Name {
		return usagef("%s is no obstat.yaml; obstat policy convert makes one of it", o.title(p.Input.Names()))
	}
	if target.Dialect, err = all.Find(target.Name); err != nil {
		return err
	}
	o.announce(p)
	res, err := convert.Export(p.Loaded, &target)
	if err != nil {
		return err
	}
	name := filepath.Join(p.Dir, filepath.FromSlash(res.File))
	if o.Check {
		return o.same(name, &target, res)
	}
	if o.Write {
		err := textedit.UpdateFile(name, func(have []byte) ([]byte, error) {
			o.stays(&target, have)
			return merged(&target, have, res.Text)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", o.short(name), err)
		}
	}
	if o.jsonFlag {
		return writeJSON(o.IO.Out, res)
	}
	if !o.Write {
		if _, err := io.WriteString(o.IO.Out, res.Text); err != nil {
			return err
		}
	}
	s := newScreen(o.IO)
	s.exported(res, o.Most)
	return s.flush(o.IO.Err)
}

// same compares the agent's file with the export, for CI.
func (o *exportOptions) same(name string, target *convert.Target, res *convert.Exported) error {
	have, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s; obstat policy export --to %s --write makes it", o.short(name), o.To)
	}
	if err != nil {
		return err
	}
	want, err := merged(target, have, res.Text)
	if errors.Is(err, errOwnRules) {
		want, err = []byte(res.Text), nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.short(name), err)
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("%s is not what this policy is exported to%s; obstat policy export --to %s --write changes it",
			o.short(name), differing(target.Keys != nil, string(have), string(want)), o.To)
	}
	o.stays(target, have)
	fmt.Fprintf(o.IO.Out, "%s says what the policy says\n", visible(o.short(name)))
	return nil
}

// stays tells which parts of a file the proof has not looked at.
func (o *exportOptions) stays(target *convert.Target, have []byte) {
	if keys := leftAlone(target, have); len(keys) > 0 {
		fmt.Fprintf(o.IO.Err, "%s: not an export's, and not looked at; the agent may be freer by it\n",
			visible(strings.Join(keys, ", ")))
	}
}

// differing tells the rules, or lines, that are missing and those that are too many, a few of each.
func differing(json bool, have, want string) (out string) {
	const most = 3
	parts := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || json && strings.ContainsRune(",[{]}", r) })
	}
	for _, side := range []struct{ of, other, word string }{{want, have, "lacks"}, {have, want, "has besides"}} {
		known := map[string]bool{}
		for _, line := range parts(side.other) {
			known[bare(line)] = true
		}
		var lines []string
		for _, line := range parts(side.of) {
			if line = bare(line); line != "" && !known[line] {
				lines = append(lines, line)
			}
		}
		if n := len(lines); n > most {
			lines = append(lines[:most], fmt.Sprintf("%d more", n-most))
		}
		if len(lines) > 0 {
			out += ": it " + side.word + " " + visible(strings.Join(lines, ", "))
		}
	}
	return strings.Replace(out, ": it has besides", "; it has besides", min(1, strings.Count(out, "lacks")))
}

// bare is a line without what stands around a rule.
func bare(line string) string { return strings.Trim(line, " \t\r\n,") }

// errOwnRules says that a file has rules which no export has written.
var errOwnRules = errors.New("it has rules that are no export; take them over with obstat policy convert, or " +
	"move it away")

// merged puts an export into an agent's file, and leaves what else the file says.
func merged(t *convert.Target, have []byte, text string) ([]byte, error) {
	if len(bytes.TrimSpace(have)) == 0 {
		return []byte(text), nil
	}
	if t.Keys == nil {
		if !bytes.HasPrefix(have, []byte(convert.ExportMark)) {
			return nil, errOwnRules
		}
		return []byte(text), nil
	}
	root, problems := textedit.JSON.Parse([]byte(text))
	if len(problems) > 0 {
		return nil, problems[0]
	}
	for _, key := range t.Keys {
		var err error
		if have, err = textedit.JSONC.Set(have, root.At(key...), key...); err != nil {
			return nil, err
		}
	}
	return have, nil
}

// leftAlone lists what else of a file decides something, which the proof has not looked at.
func leftAlone(t *convert.Target, have []byte) (out []string) {
	root, _ := textedit.JSONC.Parse(have)
	for _, key := range t.Beside {
		if root.At(key...) != nil {
			out = append(out, strings.ReplaceAll(strings.Trim(fmt.Sprint(key), "[]"), " ", "."))
		}
	}
	return out
}

// exported lists the parts of sentences without a rule, those with the same reason together, and calls that the agent
// alone would allow.
func (s *screen) exported(res *convert.Exported, most int) {
	s.printf("%s for %s", plural(res.Said, "rule"), res.File)
	if res.Added > 0 {
		s.printf(", %d more that ask where the agent would allow or see less than obstat", res.Added)
	}
	s.printf("; %s without one\n", plural(len(res.Unsaid), "sentence"))
	why := ""
	s.first(len(res.Unsaid), most, "lists", func(i int) {
		u := &res.Unsaid[i]
		if u.Why != why {
			why = u.Why
			s.printf("\n")
			s.text("not", why)
		}
		s.printf("%-5s %s  %s\n", u.Verdict, visible(u.Rule), visible(u.Pos.String()))
	})
	if len(res.Looser) == 0 {
		s.printf("\nno rule of it frees a call that was tried (%s)\n", plural(res.Tried, "call"))
	} else {
		s.printf("\nfreer by its rules: %s\n", plural(len(res.Looser), "region"))
		s.first(len(res.Looser), most, "lists", func(i int) { s.region(&res.Looser[i]) })
	}
	if res.Asked > 0 {
		s.printf("%s that obstat denies: the agent asks\n", plural(res.Asked, "region"))
	}
	if len(res.Alone) > 0 {
		s.printf("\nwhere the agent alone allows, whatever its file says, and obstat does not: %s\n",
			plural(len(res.Alone), "region"))
		s.first(len(res.Alone), most, "lists", func(i int) { s.region(&res.Alone[i]) })
	}
}
