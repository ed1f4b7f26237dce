package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
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
	Most   int    `flag:"most"`
}

func newExport(f *Factory) *cobra.Command {
	o := &exportOptions{Factory: f, Most: 10}
	return command("policy export", some(0, -1), o, o.run)
}

// permissionLists are the names of the lists of Claude Code's settings.
var permissionLists = map[obstat.Verdict]string{obstat.Allow: "allow", obstat.Ask: "ask", obstat.Deny: "deny"}

// exportTargets are the languages that a policy can be exported to, by the agent.
var exportTargets = map[string]struct {
	dialect string
	convert.Target
}{
	"claude-code": {"claudecode", convert.Target{File: ".claude/settings.json", Rule: convert.ClaudeRule,
		Text: convert.PermissionsText(permissionLists)}},
	"codex": {"codex", convert.Target{File: ".codex/rules/default.rules", Rule: convert.CodexRule,
		Text: convert.LinesText}},
	"cursor": {"cursor", convert.Target{File: ".cursor/cli.json", Rule: convert.CursorRule,
		Text: convert.PermissionsText(map[obstat.Verdict]string{obstat.Allow: "allow", obstat.Deny: "deny"})}},
	"gemini": {"gemini", convert.Target{File: ".gemini/policies/obstat.toml", Rule: convert.GeminiRule,
		Text: convert.GeminiText}},
	"opencode": {"opencode", convert.Target{File: "opencode.json", Rule: convert.OpencodeRule,
		Text: convert.OpencodeText}},
}

func (o *exportOptions) run(_ context.Context, files []string) error {
	target, known := exportTargets[o.To]
	if !known {
		return usagef("--to takes %s, not %q", strings.Join(slices.Sorted(maps.Keys(exportTargets)), ", "), o.To)
	}
	o.Policy.Files, o.Policy.Parse = files, true
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	if p.Dialect.Name() != native.Name {
		return usagef("%s is no obstat.yaml; obstat policy convert makes one of it", o.title(p.Input.Names()))
	}
	if target.Dialect, err = all.Find(target.dialect); err != nil {
		return err
	}
	o.announce(p)
	res, err := convert.Export(p.Loaded, &target.Target)
	if err != nil {
		return err
	}
	if o.Check {
		return o.same(p.Dir, res)
	}
	if o.jsonFlag {
		return writeJSON(o.IO.Out, res)
	}
	if _, err := io.WriteString(o.IO.Out, res.Text); err != nil {
		return err
	}
	s := newScreen(o.IO)
	s.exported(res, o.Most)
	return s.flush(o.IO.Err)
}

// same compares the agent's file with the export, for CI.
func (o *exportOptions) same(dir string, res *convert.Exported) error {
	name := filepath.Join(dir, filepath.FromSlash(res.File))
	have, err := textedit.ReadFile(name)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(have, []byte(res.Text)):
		return fmt.Errorf("%s is not what this policy is exported to; obstat policy export --to %s writes it",
			o.short(name), o.To)
	}
	fmt.Fprintf(o.IO.Out, "%s says what the policy says\n", visible(o.short(name)))
	return nil
}

// exported lists the sentences without a rule, and calls that the agent alone would decide more freely.
func (s *screen) exported(res *convert.Exported, most int) {
	s.printf("%s for %s; %s without one\n", plural(res.Said, "rule"), res.File, plural(len(res.Unsaid), "sentence"))
	s.first(len(res.Unsaid), most, "lists", func(i int) {
		u := &res.Unsaid[i]
		s.printf("\n%s %s %s\n", u.Verdict, visible(u.Rule), visible(u.Pos.String()))
		s.text("not", u.Why)
	})
	if len(res.Looser) == 0 {
		s.printf("\nno call that was tried is freer in it (%s)\n", plural(res.Tried, "call"))
		return
	}
	s.printf("\nwhere the agent alone would be freer, and obstat is not: %s\n", plural(len(res.Looser), "region"))
	s.first(len(res.Looser), most, "lists", func(i int) { s.region(&res.Looser[i]) })
}
