package suggest

import (
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/paths"
)

// A thing is an effect that several asks may have in common.
type thing struct{ kind, target string }

// things returns the effects of a deed from narrow to wide: `run npm run lint`, `run npm run`;
// `write src/a`, `write src/**/*.go`, `write src`.
func (d *deed) things() (out []thing) {
	a := explain.Analyze(d.call, d.world)
	for i := range a.Commands {
		c := &a.Commands[i]
		if !c.Known || c.Wrapper {
			continue
		}
		words := []string{c.Program}
		for _, w := range c.Words[1:] {
			if strings.HasPrefix(w.Text, "-") || strings.ContainsAny(w.Text, "/ =*()\\") || len(words) == 3 {
				break
			}
			words = append(words, w.Text)
		}
		for n := len(words); n > 0; n-- {
			out = append(out, thing{dialect.EffectRun, strings.Join(words[:n], " ")})
		}
	}
	kinds := map[effect.Kind]string{effect.Read: obstat.FaceRead, effect.Write: obstat.FaceWrite,
		effect.Delete: obstat.FaceDelete}
	for i := range a.Effects {
		e := &a.Effects[i]
		switch kind := kinds[e.Kind]; {
		case e.Kind == effect.Connect && e.Host != "":
			out = append(out, thing{obstat.FaceConnect, e.Host})
		case kind != "" && e.Path != "" && len(a.Commands) == 0:
			ext := path.Ext(e.Path)
			for dir := path.Dir(e.Path); paths.Inside(d.call.Anchor(), dir); dir = path.Dir(dir) {
				if out = append(out, thing{kind, dir}); dir == d.call.Anchor() {
					break
				}
				if len(ext) > 1 && strings.Trim(ext[1:], letters) == "" { // narrower than all of the directory
					out = append(out, thing{kind, dir + dialect.AnyBelow + ext})
				}
			}
		}
	}
	return out
}

// letters are those of the ending of a file's name.
const letters = "abcdefghijklmnopqrstuvwxyz0123456789"

// minAlike is how many different narrower effects a generalisation needs: `cargo test` and
// `cargo build` do not make `cargo`.
const minAlike = 3

// generalize adds rules for effects that several asks have in common, where the dialect can say
// them.
func (s *search) generalize() {
	g, ok := s.l.Dialect.(dialect.Generalizer)
	if !ok {
		return
	}
	alike, inner, order, anchor := map[thing][]*deed{}, map[thing]map[string]bool{}, []thing{}, ""
	for _, d := range s.asks() {
		anchor = d.call.Anchor()
		narrower := explain.TextOf(d.call)
		for _, t := range d.things() {
			if !strings.HasPrefix(narrower, t.target) {
				narrower = explain.TextOf(d.call)
			}
			if inner[t] == nil {
				inner[t] = map[string]bool{}
			}
			alike[t] = append(alike[t], d)
			if inner[t][narrower] = true; len(inner[t]) == minAlike && !slices.Contains(order, t) {
				order = append(order, t)
			}
			narrower = t.target
		}
	}
	for _, t := range order {
		if o, ok := g.RuleFor(s.l, t.kind, t.target, anchor); ok {
			s.add(alike[t], o)
		}
	}
}

// effectOf names the effect of a deed in a word and its target.
func effectOf(d *deed) string {
	if all := d.things(); len(all) > 0 {
		return all[0].kind + " " + all[0].target
	}
	return d.call.Tool
}

//go:embed harm.txt
var harmText string

// The place where the commands of harm.txt were run and watched.
const (
	labProject = "/srv/lab/proj"
	labHome    = "/srv/lab/home"
)

// harmIn returns calls that are known to do harm, as if made where the asks were: by each shell
// tool that asked. Each was run in a sandbox and seen to delete, to write where it should not, to
// send or to print a secret.
func harmIn(deeds []*deed) (out []*deed) {
	type shell struct{ tool, field, agent string }
	var shells []shell
	for _, d := range deeds {
		t, _ := effect.Lookup(d.call.Tool)
		var fields map[string]any
		if !t.Shell() || json.Unmarshal(d.call.Input, &fields) != nil {
			continue
		}
		for _, name := range t.Command {
			sh := shell{d.call.Tool, name, d.call.Agent}
			if _, has := fields[name].(string); has && !slices.Contains(shells, sh) {
				shells = append(shells, sh)
				out = append(out, harmBy(d, name)...)
			}
		}
	}
	return out
}

// harmBy returns the calls of one tool, in the place of a deed.
func harmBy(d *deed, field string) (out []*deed) {
	at := d.call.Anchor()
	home, _ := d.world.Home("")
	if home == "" {
		home = labHome
	}
	move := strings.NewReplacer(labProject, at, labHome, home)
	world := &obstat.Snapshot{HomeDir: home, Dirs: []string{at, home, at + "/.git", at + "/src", home + "/.ssh"},
		Links: map[string]string{
			at + "/envlink": ".env", at + "/selflink": ".", at + "/sshlink": home + "/.ssh", at + "/up": "../" + path.Base(at)}}
	for line := range strings.Lines(harmText) {
		var command string
		if json.Unmarshal([]byte(line), &command) != nil {
			continue
		}
		input, err := json.Marshal(map[string]string{field: move.Replace(command)})
		if err != nil {
			continue
		}
		call := *d.call
		call.Input, call.Dir = input, at
		out = append(out, &deed{call: &call, world: world, refused: true})
	}
	return out
}
