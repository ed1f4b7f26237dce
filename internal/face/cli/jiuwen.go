package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	jiuwendialect "github.com/obstat/obstat/dialect/jiuwen"
	"github.com/obstat/obstat/host/jiuwen"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/pattern"
)

// jiuwenOptions say which config.yaml of JiuwenSwarm a command changes.
type jiuwenOptions struct {
	*Factory
	Config string `flag:"config"`
	Locale string `flag:"locale"`
}

// store returns the file that o names.
func (o *jiuwenOptions) store() (jiuwen.File, error) {
	if o.Config != "" {
		return jiuwen.File(o.Config), nil
	}
	home, _ := o.World.Home("")
	f, err := jiuwen.DefaultFile(os.Getenv, home)
	if err != nil {
		return "", usagef("%v; name the file with --config", err)
	}
	return f, nil
}

// permissionsJSON is the output of obstat permissions --json.
type permissionsJSON struct {
	V    int    `json:"v"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

func newPermissions(f *Factory) *cobra.Command {
	o := &jiuwenOptions{Factory: f, Locale: jiuwen.Locale(os.Getenv)}
	cmd := command("permissions", some(0, -1), o, o.permissions)
	cmd.Flags().Lookup("locale").DefValue = "" // that of the environment
	return cmd
}

func (o *jiuwenOptions) permissions(_ context.Context, args []string) error {
	store, err := o.store()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		if _, err := o.meant(string(store)); err != nil {
			return err
		}
	}
	h := &jiuwen.Handler{Store: store, User: userName()}
	if db, err := sqlite.DefaultPath(); err == nil && len(args) > 0 {
		if h.Ledger, err = sqlite.Log(db, os.Getenv); err != nil {
			return fmt.Errorf("the change could not be written to the ledger: %w", err)
		}
	}
	c := &jiuwen.Command{Caller: h, Locale: o.Locale}
	it := c.Run(strings.Join(args, " "))
	code, out := ExitOK, o.IO.Out
	if !it.OK() {
		code, out = ExitError, o.IO.Err
	}
	if o.jsonFlag {
		return cmp.Or(writeJSON(o.IO.Out, permissionsJSON{1, it.OK(), it.Text}), done(code))
	}
	for line := range strings.SplitSeq(it.Text, "\n") {
		if _, err := fmt.Fprintln(out, visible(line)); err != nil {
			return err
		}
	}
	if it.Rule != "" {
		o.problems(o.IO.Err, o.idle(string(store), it.Rule), false)
	}
	return done(code)
}

// idle warns of a rule that was just written and decides nothing: it is not read, or
// another one is before it.
func (o *jiuwenOptions) idle(name, id string) obstat.Errors {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	l, err := dialect.Load(jiuwendialect.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: name, Data: data}}})
	if err != nil {
		return nil // validate says it
	}
	for _, rules := range l.Program.Rules {
		for _, r := range rules {
			if r.ID == "rules["+id+"]" {
				return o.overruled(l, &r)
			}
		}
	}
	return obstat.Errors{{Code: obstat.CodeNoEffect, Warning: true, Pos: obstat.Pos{File: name},
		Msg:  "the rule is written and not read: the file has no `schema: tiered_policy`",
		Hint: "add that line under permissions, or set a level for the whole tool"}}
}

// overruled warns of a rule that does not decide a call that it is about, `ls x` for
// `ls *`, and names the rule that does.
func (o *jiuwenOptions) overruled(l *dialect.Loaded, r *obstat.Rule) obstat.Errors {
	for _, text := range aboutTexts(l, r) {
		input, err := json.Marshal(map[string]string{"command": text, "path": text})
		if err != nil {
			continue
		}
		d := l.Policy.Decide(&obstat.Call{Tool: r.Tool.Text, Input: input}, o.World)
		if d.Verdict == r.Verdict {
			continue
		}
		return obstat.Errors{{Code: obstat.CodeNoEffect, Warning: true, Pos: r.Pos,
			Hint: "change or delete that one, or ask `obstat explain`",
			Msg:  fmt.Sprintf("with this rule %s of %q is %s all the same: %s", r.Tool.Text, text, d.Verdict, d.Reason())}}
	}
	return nil
}

// aboutTexts returns texts that a rule is about: for `ls *` the text `ls x`, and a text for each of the user's
// other rules that both match: `sudo apt` for `re:^sudo apt` beside `re:^sudo .*`.
func aboutTexts(l *dialect.Loaded, r *obstat.Rule) (out []string) {
	text, ok := strings.CutPrefix(strings.TrimSuffix(r.Source, ")"), r.ID+" "+r.Tool.Text+"(")
	if ok && !strings.HasPrefix(strings.ToLower(text), "re:") {
		out = append(out, strings.NewReplacer("*", "x", "?", "x").Replace(text))
	}
	own, err := pattern.Compile(r.Pattern.Flavour, r.Pattern.Text)
	if err != nil {
		return out
	}
	for _, list := range slices.Sorted(maps.Keys(l.Program.Rules)) {
		for _, other := range l.Program.Rules[list] {
			alike := other.Tool == r.Tool && other.Field == r.Field && strings.HasPrefix(other.ID, "rules[")
			p, err := pattern.Compile(other.Pattern.Flavour, other.Pattern.Text)
			if alike && other.Verdict != r.Verdict && err == nil {
				out = append(out, inBoth(own, p)...)
			}
		}
	}
	return out
}

// inBoth returns texts that both patterns match, `sudo x` rather than `sudo `, which is no command.
func inBoth(a, b *pattern.Pattern) (out []string) {
	ask := &pattern.Sampling{Patterns: []*pattern.Pattern{b}, Within: []*pattern.Pattern{a}, Of: []bool{true}}
	samples, _ := ask.Samples()
	for _, s := range samples {
		one, _ := a.Match(s.Text + "x")
		other, _ := b.Match(s.Text + "x")
		if one && other {
			s.Text += "x"
		}
		out = append(out, s.Text)
	}
	return out
}

// addDirJSON is the output of obstat add-dir --json.
type addDirJSON struct {
	V int `json:"v"`
	*jiuwendialect.Trusted
}

func newAddDir(f *Factory) *cobra.Command {
	o := &jiuwenOptions{Factory: f}
	return command("add-dir", some(1, 1), o, o.addDir)
}

func (o *jiuwenOptions) addDir(_ context.Context, args []string) error {
	store, err := o.store()
	if err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	if _, err := o.meant(string(store)); err != nil {
		return err
	}
	t, err := jiuwen.AddDir(store, o.World, cwd, args[0])
	if err != nil {
		return err
	}
	text := "trusted: " + t.Dir
	if !t.Overrides {
		text += " (external_directory only: the tiered policy is not in force)"
	}
	if !o.World.IsDir(t.Dir) {
		o.problems(o.IO.Err, obstat.Errors{{Code: obstat.CodeNoEffect, Warning: true,
			Msg: fmt.Sprintf("there is no directory %s: the rule waits for one", t.Dir)}}, false)
	}
	return o.show(addDirJSON{1, t}, func(s *screen) { s.printf("%s\n", visible(text)) })
}
