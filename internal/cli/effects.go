package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/cases"
	"github.com/obstat/obstat/internal/explain"
	"github.com/obstat/obstat/internal/tree"
)

// effectsOptions are the options of obstat effects.
type effectsOptions struct {
	*Factory
	Command string
	Call    string // JSON
	Dir     string
}

func newEffects(f *Factory) *cobra.Command {
	o := &effectsOptions{Factory: f}
	var cmd *cobra.Command
	cmd = command("effects", some(0, 1), func(_ context.Context, args []string) error {
		called := cmd.Flags().Changed("call")
		switch {
		case len(args) > 0 && called:
			return usagef("give COMMAND or --call, not both")
		case len(args) > 0:
			o.Command = args[0]
		case !called:
			if err := o.readCommand(); err != nil {
				return err
			}
		}
		return effectsRun(o)
	})
	cmd.Flags().StringVar(&o.Call, "call", "", "a call, as `JSON`, in place of COMMAND")
	cmd.Flags().StringVarP(&o.Dir, "dir", "C", "", "working `directory` of the call (default: the current one)")
	return cmd
}

// maxCommand bounds a command that is read from standard input.
const maxCommand = 10 << 20

func (o *effectsOptions) readCommand() error {
	if o.IO.InTTY {
		return usagef("give a COMMAND, or one on standard input")
	}
	b, err := io.ReadAll(io.LimitReader(o.IO.In, maxCommand+1))
	if err != nil {
		return err
	}
	if len(b) > maxCommand {
		return fmt.Errorf("the command has more than %d bytes", maxCommand)
	}
	o.Command = strings.TrimSuffix(string(b), "\n")
	return nil
}

// effectsJSON is the output of `obstat effects --json`.
type effectsJSON struct {
	V        int              `json:"v"`
	Tool     string           `json:"tool"`
	Text     string           `json:"text"`
	Full     bool             `json:"full"` // nothing is hidden
	ReadOnly bool             `json:"read_only"`
	Why      string           `json:"why,omitempty"`
	Commands []commandJSON    `json:"commands"`
	Effects  []explain.Effect `json:"effects"`
	Hidden   []explain.Hidden `json:"hidden"`
}

type commandJSON struct {
	Program    string       `json:"program"`
	Text       string       `json:"text"`
	Via        []string     `json:"via,omitempty"`
	Dir        string       `json:"dir,omitempty"`
	Known      bool         `json:"known"`
	Catalogued bool         `json:"catalogued"`
	ReadOnly   bool         `json:"read_only"`
	Why        string       `json:"why,omitempty"`
	Span       explain.Span `json:"span,omitzero"`
}

func effectsRun(o *effectsOptions) error {
	dir, err := o.dir(o.Dir)
	if err != nil {
		return err
	}
	call, err := o.call()
	if err != nil {
		return err
	}
	if call.Dir == "" {
		call.Dir = dir
	}
	a := explain.Analyze(call, o.World)
	v := newEffectsJSON(call, a, o.World)
	return o.show(v, func(s *screen) { s.effects(v, a) })
}

// call is the call that o is about; a command is one of a shell tool.
func (o *effectsOptions) call() (*obstat.Call, error) {
	if o.Call != "" {
		return cases.ParseCall("--call", 1, []byte(o.Call))
	}
	b, err := marshal(map[string]string{"command": o.Command})
	return &obstat.Call{Tool: "Bash", Input: b}, err
}

func newEffectsJSON(call *obstat.Call, a *effect.Analysis, w obstat.World) *effectsJSON {
	v := &effectsJSON{V: explain.Version, Tool: call.Tool, Text: explain.TextOf(call), Full: a.Full, ReadOnly: a.ReadOnly, Why: a.Why,
		Commands: []commandJSON{}, Effects: []explain.Effect{}, Hidden: []explain.Hidden{}}
	for i := range a.Commands {
		c := &a.Commands[i]
		v.Commands = append(v.Commands, commandJSON{c.Program, c.Text, c.Via, c.Dir, c.Known, c.Catalogued, c.ReadOnly, c.Why, explain.Span{Start: c.Span.Start, End: c.Span.End}})
	}
	for i := range a.Effects {
		v.Effects = append(v.Effects, explain.NewEffect(a, &a.Effects[i], call, w))
	}
	v.Hidden = append(v.Hidden, explain.HiddenOf(a)...)
	return v
}

// effects lays out an analysis: a table of effects, the gaps, and whether
// it only reads.
func (s *screen) effects(v *effectsJSON, a *effect.Analysis) {
	rows := [][4]string{{"EFFECT", "TARGET", "CERTAINTY", "AT"}}
	width := 0
	for i := range v.Effects {
		e := &v.Effects[i]
		target := visible(e.Target)
		if len(e.Notes) > 0 {
			target += " (" + visible(strings.Join(e.Notes, ", ")) + ")"
		}
		width = max(width, columns(target))
		certain := "certain"
		if !e.Certain {
			certain = "possible"
		}
		at := ""
		if e.Span.End > e.Span.Start {
			line, col := tree.LineCol([]byte(v.Text), e.Span.Start)
			at = fmt.Sprintf("%d:%d", line, col)
		}
		rows = append(rows, [4]string{e.Kind, target, certain, at})
	}
	if len(rows) == 1 {
		rows = nil
		s.printf("no effects that are known of\n")
	}
	width = min(max(width, len("TARGET")), s.width-8-2-9-2-6-2)
	for i, r := range rows {
		line := strings.TrimRight(pad(r[0], 8)+"  "+pad(clip(r[1], width), width)+"  "+pad(r[2], 9)+"  "+r[3], " ")
		if i == 0 {
			line = s.io.paint(bold, line)
		}
		s.printf("%s\n", line)
	}
	s.margin, s.label = 8, yellow
	for i, h := range v.Hidden {
		if i == 0 {
			s.printf("\n")
		}
		text := h.Why
		if part := cut(v.Text, h.Span); part != "" {
			text += ": " + part
		}
		s.text("hidden", text)
	}
	look := yellow
	if a.ReadOnly {
		look = green
	}
	s.printf("\n%s\n", s.io.paint(look, visible(explain.ReadOnly(a))))
}
