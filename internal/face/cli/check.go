package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/play"
	"github.com/obstat/obstat/internal/format/jsonl"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/study/cases"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// checkOptions are the options of obstat check and obstat explain.
type checkOptions struct {
	*Factory
	Policy policyOptions
	Call   callOptions
	// Answer decides a call and writes the answer. line is that of standard input, zero
	// where the call is in the arguments.
	Answer func(w io.Writer, p *loaded, call *obstat.Call, line int) (obstat.Verdict, error)
	Gap    string // between two answers in text
	Walk   bool   `flag:"walk"`
}

func newCheck(f *Factory) *cobra.Command {
	return (&checkOptions{Factory: f, Answer: f.check}).command("check")
}

func newExplain(f *Factory) *cobra.Command {
	o := &checkOptions{Factory: f, Gap: "\n"}
	o.Answer = o.explain
	return o.command("explain")
}

func (o *checkOptions) command(name string) *cobra.Command {
	cmd := command(name, some(0, 2), o, o.run)
	o.Call.circumstanceFlags(cmd)
	return cmd
}

// run answers the call of the arguments, or each call of a stream.
func (o *checkOptions) run(_ context.Context, args []string) error {
	if err := o.Call.args(args); err != nil {
		return err
	}
	if o.Call.Tool == "" && o.IO.InTTY {
		return usagef("name a TOOL, or give calls as JSON lines on standard input")
	}
	p, err := o.load(&o.Policy)
	if err != nil {
		return err
	}
	defer p.close()
	if err := o.Call.check(p); err != nil {
		return err
	}
	o.announce(p)
	o.warnOnce(p)
	if o.Call.Tool == "" {
		return o.stream(p)
	}
	call, err := o.Call.call(p, o.World)
	if err != nil {
		return err
	}
	v, err := o.Answer(o.IO.Out, p, call, 0)
	return cmp.Or(err, done(exitOf(v)))
}

// stream answers the calls on standard input, one line each, as they come: a program that
// sends one call waits for its answer before it sends the next.
func (o *checkOptions) stream(p *loaded) error {
	lines := jsonl.NewReader(o.IO.In)
	out := bufio.NewWriter(o.IO.Out)
	worst := ExitOK
	for first := true; ; first = false {
		src, err := lines.Next()
		if err == io.EOF {
			return cmp.Or(out.Flush(), done(worst))
		}
		n := lines.Line()
		if err != nil && !errors.Is(err, jsonl.ErrTooLong) {
			out.Flush()
			return obstat.Errors{{Code: obstat.CodeIO, Pos: obstat.Pos{File: "standard input", Line: n + 1}, Msg: err.Error()}}
		}
		if !first && !o.jsonFlag {
			fmt.Fprint(out, o.Gap)
		}
		code := ExitError
		var call *obstat.Call
		if err != nil {
			err = obstat.Errors{{Code: obstat.CodeTooLarge, Pos: obstat.Pos{Line: n, Col: 1}, Msg: err.Error()}}
		} else {
			call, err = cases.ParseCall("", n, src)
		}
		var es obstat.Errors
		if errors.As(err, &es) {
			err = o.refuse(out, n, es)
		} else {
			var v obstat.Verdict
			o.Call.defaults(call, p.Dir)
			v, err = o.Answer(out, p, call, n)
			code = exitOf(v)
		}
		if err = errors.Join(err, out.Flush()); err != nil {
			return err
		}
		worst = worse(worst, code)
	}
}

// lineErrorJSON is the JSON output for a line that is no call.
type lineErrorJSON struct {
	V      int           `json:"v"`
	Line   int           `json:"line"`
	Errors obstat.Errors `json:"errors"`
}

// refuse writes why a line is no call.
func (f *Factory) refuse(w io.Writer, n int, es obstat.Errors) error {
	if f.jsonFlag {
		return writeJSON(w, lineErrorJSON{explain.Version, n, es})
	}
	for _, e := range es {
		hint := ""
		if e.Hint != "" {
			hint = "; " + e.Hint
		}
		if _, err := fmt.Fprintf(w, "%d:%d: %s: %s [%s]%s\n", n, e.Pos.Col, f.IO.paint(red, "error"), visible(e.Msg),
			e.Code, visible(hint)); err != nil {
			return err
		}
	}
	return nil
}

// byJSON names the policy that decided.
type byJSON struct {
	Dialect string   `json:"dialect"`
	Policy  string   `json:"policy"` // digest
	Files   []string `json:"files"`
	// Waits is the directory whose files would be looser and wait to be accepted.
	Waits string `json:"waits,omitempty"`
}

func newByJSON(a *policy.Ruling) byJSON {
	return byJSON{a.From.Dialect.Name(), a.From.Loaded.Policy.Digest(), a.From.Input.Names(), a.Waits}
}

// checkJSON is the output of obstat check --json for one call.
type checkJSON struct {
	V    int `json:"v"`
	Line int `json:"line,omitempty"`
	explain.Decision
	byJSON
}

// check decides a call and writes the answer on one line.
func (f *Factory) check(w io.Writer, p *loaded, call *obstat.Call, line int) (obstat.Verdict, error) {
	a, err := p.decide(call, f.World)
	if err != nil {
		return obstat.Deny, err
	}
	verdict, look := a.Verdict.String(), verdictInk(a.Verdict)
	choices := p.choices(&a, f.World)
	switch {
	case f.jsonFlag:
		d := explain.NewDecision(&a.Decision)
		for i := range d.Offers {
			d.Offers[i].Also = choices[min(i, len(choices)-1)].Also
		}
		err = writeJSON(w, checkJSON{explain.Version, line, d, newByJSON(&a)})
	case line == 0:
		s := newScreen(f.IO)
		s.label = look
		s.said(verdict, visible(f.shorten(a.Reason(), a.From.Input.Names())))
		s.label = dim
		s.offers(choices, "")
		err = s.flush(w)
	default:
		_, err = fmt.Fprintf(w, "%d: %s %s: %s\n", line, f.IO.paint(look, verdict),
			clip(visible(callWords(call)), f.IO.width()), visible(a.Reason()))
	}
	return a.Verdict, err
}

// choices are the offers of an answer as a request shows them. Those that settle the call
// only together are one.
func (p *loaded) choices(a *policy.Ruling, world obstat.World) (out []approval.Offer) {
	if len(a.Offers) == 0 {
		return nil
	}
	for _, offers := range a.From.Choices(&a.Call, world, a.Offers) {
		o := approval.Offer{Text: offers[0].Text, Also: p.also(a, offers)}
		for i := range offers[1:] {
			o.And = append(o.And, approval.Offer{Text: offers[1+i].Text})
		}
		out = append(out, o)
	}
	return out
}

// also returns the calls of the last days that offers would allow as well, as far as the
// ledger of this user knows them.
func (p *loaded) also(a *policy.Ruling, offers []obstat.Offer) []string {
	ctx := context.Background()
	if !p.looked {
		p.looked = true
		p.records, _ = new(storeOptions).open(ctx) // without a store there is nothing to look at
	}
	if p.records == nil {
		return nil
	}
	return gate.Also(ctx, p.records, a.From.Loaded, &a.Call, offers)
}

// explainJSON is the output of obstat explain --json for one call.
type explainJSON struct {
	*explain.View
	byJSON
}

// explain explains the answer of the policy that decides, and says where files
// that wait to be accepted would be looser.
func (o *checkOptions) explain(w io.Writer, p *loaded, call *obstat.Call, _ int) (obstat.Verdict, error) {
	f := o.Factory
	a, err := p.decide(call, f.World)
	if err != nil {
		return obstat.Deny, err
	}
	by := a.From
	r := play.Request(by.Loaded, &a.Call, f.World)
	r.Offers = func(*obstat.Decision) []obstat.Offer { return a.Offers }
	r.Also = func(o []obstat.Offer) []string { return p.also(&a, o) }
	r.Settle = func(pol *obstat.Policy, call *obstat.Call) obstat.Verdict {
		return p.settle(call, f.World, by.Loaded.Policy, pol)
	}
	v := explain.Explain(r)
	// more than this policy has spoken: pins, self-protection
	if reason := a.Reason(); a.Waits != "" || v.Reason != reason {
		switch {
		case v.Stage == a.Stage:
		case a.Stage == obstat.ListLimit && a.Rule != nil:
			v.By = explain.By{Kind: "rule", Text: "limit " + a.Rule.String(), Pos: a.Rule.Pos}
		default:
			v.By = explain.By{Kind: "check", Text: a.Stage}
		}
		v.Decision, v.Why, v.Changes = explain.NewDecision(&a.Decision), reason, nil
		if a.Waits != "" {
			v.Changes = []explain.Change{{Kind: explain.ChangeAccept, Words: "accept what is new: obstat trust " + a.Waits,
				Verdict: obstat.Allow}}
		}
	}
	if c := f.takenBack(p, call, &a); c != nil {
		v.Changes = append([]explain.Change{*c}, v.Changes...)
	}
	v.Limits = p.gate.Limits(context.Background(), call)
	if f.jsonFlag {
		return v.Verdict, writeJSON(w, explainJSON{v, newByJSON(&a)})
	}
	names := by.Input.Names()
	v.By.Pos.File, v.Why = f.shorten(v.By.Pos.File, names), f.shorten(v.Why, names)
	for i := range v.Changes {
		v.Changes[i].Words = f.shorten(v.Changes[i].Words, names)
	}
	s := newScreen(f.IO)
	s.full = o.Walk
	s.explanation(v)
	return v.Verdict, s.flush(w)
}

// takenBack says that a hook would let the call run, where this command asks: a hook keeps the files that `rm a.txt`
// removes, and this keeps nothing.
func (f *Factory) takenBack(p *loaded, call *obstat.Call, a *policy.Ruling) *explain.Change {
	const name = "reversible"
	if a.Verdict != obstat.Ask || call.Circumstances[name] != "" || !a.From.Loaded.Policy.Circumstantial() {
		return nil
	}
	world := obstat.Recorder{Of: f.World}
	if !undo.Of(world.Analysis(call)).Certain() {
		return nil
	}
	kept := *call
	kept.Circumstances = maps.Clone(call.Circumstances)
	if kept.Circumstances == nil {
		kept.Circumstances = map[string]string{}
	}
	kept.Circumstances[name] = "true"
	if now, err := p.decide(&kept, f.World); err != nil || now.Verdict != obstat.Allow {
		return nil
	}
	return &explain.Change{Kind: explain.ChangeKept, Verdict: obstat.Allow,
		Words: "let an agent with obstat's hook make the call: its changes are kept first, and `obstat undo` takes them back"}
}

// modesOf returns the modes of a Program, sorted.
func modesOf(p *obstat.Program) (out []string) {
	for _, m := range slices.Sorted(maps.Keys(p.Pipelines)) {
		out = append(out, string(m))
	}
	return out
}

// effectsOptions are the options of obstat effects.
type effectsOptions struct {
	*Factory
	Command string
	Call    string `flag:"call"` // JSON
	Dir     string `flag:"dir C"`
	Learn   bool   `flag:"learn"`
	Store   storeOptions
}

func newEffects(f *Factory) *cobra.Command {
	o := &effectsOptions{Factory: f}
	return command("effects", some(0, 1), o, o.run)
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

func (o *effectsOptions) run(ctx context.Context, args []string) error {
	switch {
	case o.Learn && len(args)+len(o.Call) > 0:
		return usagef("--learn looks at the ledger; give no COMMAND")
	case o.Learn:
		return o.learn(ctx)
	case len(args) > 0 && o.Call != "":
		return usagef("give COMMAND or --call, not both")
	case len(args) > 0:
		o.Command = args[0]
	case o.Call == "":
		if err := o.readCommand(); err != nil {
			return err
		}
	}
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

// learnJSON is the output of `obstat effects --learn --json`.
type learnJSON struct {
	V       int             `json:"v"`
	Lessons []replay.Lesson `json:"lessons"`
}

// learn prints lines for the knowledge base, of paths that programs changed unpredicted.
func (o *effectsOptions) learn(ctx context.Context) error {
	store, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		return err
	}
	defer store.Close()
	var list []replay.Unpredicted
	for r, err := range store.Records(ctx, ledger.Query{}) {
		if err != nil {
			return err
		}
		if r.Kind == ledger.Outcome {
			list = append(list, replay.UnpredictedOf(r)...)
		}
	}
	out := learnJSON{1, append([]replay.Lesson{}, replay.Learn(list)...)}
	return o.show(out, func(s *screen) {
		indent := ""
		if len(out.Lessons) == 0 {
			s.printf("no confined run changed a path that was not predicted\n")
		}
		for _, l := range out.Lessons {
			where := "new"
			if l.Known {
				where = "adds to the program's own lines"
			}
			s.printf("# %s, %s\n", plural(l.N, "path"), where)
			for line := range strings.SplitSeq(l.Line, "\n\t") {
				s.printf("%s%s\n", indent, visible(line))
				indent = "\t"
			}
			indent = ""
		}
	})
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
	v := &effectsJSON{V: explain.Version, Tool: call.Tool, Text: explain.TextOf(call), Full: a.Full,
		ReadOnly: a.ReadOnly, Why: a.Why,
		Commands: []commandJSON{}, Effects: []explain.Effect{}, Hidden: []explain.Hidden{}}
	for i := range a.Commands {
		c := &a.Commands[i]
		v.Commands = append(v.Commands, commandJSON{c.Program, c.Text, c.Via, c.Dir, c.Known, c.Catalogued, c.ReadOnly,
			c.Why, explain.Span{Start: c.Span.Start, End: c.Span.End}})
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
