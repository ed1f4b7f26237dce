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
