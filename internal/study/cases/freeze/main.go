// Command freeze prints how obstat decides every case of the files it is given: one JSON line
// a case with the verdict, the reason, the rule and its place, the stage, the offers, and
// the analysis: commands, effects with their targets, gaps.
//
// Run it before and after a change that should change nothing, and compare:
//
//	go run ./internal/study/cases/freeze testdata/*.jsonl.gz > before
//
// A file that ends in .txt holds one shell command a line, behind the last tab, with \n for a
// line's end; these are decided by the built-in policy and by one that allows all but a few things.
//
// A directory is a checkout of GTFOBins: how many of its tricks each policy allows is printed as a table,
// that of docs/gtfobins.md; or of another guard, nah, cc-safety-net, dcg or tirith, or of RedCode: how many of the
// commands that its own tests want stopped the presets allow, the table of docs/guards.md.
//
//	go run ./internal/study/cases/freeze -beside 'nah=python3 -m nah.hook' DIR
//
// puts the same commands to another guard as well, by its hook for Claude Code, and adds a column for it; a file that
// ends in .txt is then counted, too.
//
// It compares nothing itself and knows no answer that is right.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonl"
	"github.com/obstat/obstat/internal/study/cases"
)

// A row is the frozen answer to one case.
type row struct {
	ID       string
	Refused  string          `json:",omitempty"` // the configuration was refused, with these errors
	Verdict  string          `json:",omitempty"`
	Safety   bool            `json:",omitempty"`
	Stage    string          `json:",omitempty"`
	Reason   string          `json:",omitempty"`
	Rule     string          `json:",omitempty"` // text and place
	Part     string          `json:",omitempty"`
	Input    json.RawMessage `json:",omitempty"`
	Marks    []string        `json:",omitempty"`
	Offers   []string        `json:",omitempty"`
	Analysis *analysis       `json:",omitempty"`
}

// An analysis is the effects of the call, by the engine.
type analysis struct {
	Tool, Why      string   `json:",omitempty"`
	Full, ReadOnly bool     `json:",omitempty"`
	Commands       []string `json:",omitempty"`
	Effects        []string `json:",omitempty"`
	Gaps           []string `json:",omitempty"`
}

// A freezer decides cases and prints their rows.
type freezer struct {
	runner cases.Runner
	out    *json.Encoder
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	f := &freezer{runner: cases.Runner{Find: all.Find}, out: json.NewEncoder(out)}
	f.out.SetEscapeHTML(false)
	var others beside
	flag.Var(&others, "beside", "`NAME=COMMAND` of another guard's hook, for a column of its own")
	flag.Parse()
	err := run(f, out, flag.Args(), others.judges)
	others.close()
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run freezes files of cases, or prints the tables of checkouts and, beside others, of files of commands.
func run(f *freezer, out io.Writer, names []string, beside []judge) error {
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err == nil && info.IsDir():
			var known bool
			if known, err = guards(out, name, beside); err == nil && !known {
				err = gtfobins(out, name, beside)
			}
		case err == nil && len(beside) > 0 && filepath.Ext(name) == ".txt":
			err = lines(out, name, beside)
		case err == nil:
			err = f.file(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *freezer) file(name string) error {
	r, err := os.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	var texts []*dialect.Loaded
	if filepath.Ext(name) == ".txt" {
		if texts, err = policies(); err != nil {
			return err
		}
	}
	for lines := jsonl.NewReader(r); ; {
		line, err := lines.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s:%d: %w", name, lines.Line(), err)
		case texts != nil:
			err = f.command(fmt.Sprintf("%s:%d", filepath.Base(name), lines.Line()), string(line), texts)
		default:
			err = f.one(name, lines.Line(), line)
		}
		if err != nil {
			return err
		}
	}
}

// one freezes a case.
func (f *freezer) one(name string, n int, line []byte) error {
	c, err := cases.Parse(name, n, line)
	if err != nil {
		return err
	}
	l, err := f.runner.Load(c)
	if err != nil {
		return f.out.Encode(row{ID: c.ID, Refused: err.Error()})
	}
	return f.out.Encode(frozen(c.ID, l, &c.Call, &c.World))
}

// command freezes a shell command under each of the policies.
func (f *freezer) command(id, line string, under []*dialect.Loaded) error {
	input, err := json.Marshal(map[string]string{"command": commandOf(line)})
	if err != nil {
		return err
	}
	for i, l := range under {
		call := &obstat.Call{Tool: "Bash", Input: input, Dir: "/home/u/project", Roots: []string{"/home/u/project"}}
		row := frozen(fmt.Sprintf("%s/%d", id, i), l, call, &obstat.Snapshot{HomeDir: "/home/u"})
		if i > 0 {
			row.Analysis = nil // as under the first
		}
		if err := f.out.Encode(row); err != nil {
			return err
		}
	}
	return nil
}

// mostly allows everything but a few things.
const mostly = `{"permissions":{"allow":["Bash","Read","Edit","Write"],"deny":["Bash(rm:*)","Bash(curl:*)","Read(.env)","Edit(.git/**)"]}}`

// policies returns the policies that commands are decided by: each preset of obstat, and the text `mostly`.
func policies() (out []*dialect.Loaded, err error) {
	load := func(name, file, text string) {
		d, e := all.Find(name)
		if e == nil {
			var l *dialect.Loaded
			l, e = dialect.Load(d, &dialect.Input{Home: "/home/u", Files: []dialect.File{{Name: file, Data: []byte(text)}}})
			out = append(out, l)
		}
		if err == nil {
			err = e
		}
	}
	for _, p := range native.Presets() {
		load("native", p+".yaml", native.Preset(p))
	}
	load("claudecode", "settings.json", mostly)
	return out, err
}

func frozen(id string, l *dialect.Loaded, call *obstat.Call, world obstat.World) row {
	d, tr := l.Policy.Explain(call, world)
	r := row{ID: id, Verdict: d.Verdict.String(), Safety: d.Safety, Stage: d.Stage, Reason: d.Reason(), Part: d.Part,
		Input: d.Input, Marks: d.Marks}
	if d.Rule != nil {
		r.Rule = d.Rule.String() + " at " + d.Rule.Pos.String()
	}
	for _, o := range l.Offers(call, world, &d) {
		r.Offers = append(r.Offers, o.Text+" in "+o.List+" for "+o.Scope+": "+o.Rule.String())
	}
	if a := tr.Analysis; a != nil {
		r.Analysis = analysed(a)
	}
	return r
}

func analysed(a *effect.Analysis) *analysis {
	out := &analysis{Tool: a.Tool, Why: a.Why, Full: a.Full, ReadOnly: a.ReadOnly}
	for i := range a.Commands {
		c := &a.Commands[i]
		out.Commands = append(out.Commands, fmt.Sprintf("%s | %q via %v in %q known %t listed %t reads %t: %s", c.Program,
			c.Text, c.Via, c.Dir, c.Known, c.Catalogued, c.ReadOnly, c.Why))
	}
	for i := range a.Effects {
		e := &a.Effects[i]
		out.Effects = append(out.Effects, fmt.Sprintf("%d %s %q real %q raw %q host %q by %s (%s) class %q in %q tags %d set %v; certain %t secret %t harmless %t unnamed %t",
			e.Command, e.Kind, e.Path, e.Real, e.Raw, e.Host, e.Program, e.Detail, e.Sensitive, e.Where, e.Tags, e.Target(), e.Certain, e.Secret, e.Harmless, e.Unnamed))
	}
	for _, g := range a.Gaps {
		out.Gaps = append(out.Gaps, fmt.Sprintf("%d %s hides %t: %s", g.Command, g.Kind, g.Hides, g.Why))
	}
	return out
}
