package confined

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

//go:embed stays.txt
var staysText string

// staying has the words of stays.txt by program.
var staying = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(staysText) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			out[words[0]] = append(out[words[0]], words[1:]...)
		}
	}
	return out
})

// stays tells whether the command serves, watches or leaves something in the background.
func (m *maker) stays() bool {
	var input struct {
		Background bool `json:"run_in_background"`
		IsBack     bool `json:"is_background"`
	}
	_ = json.Unmarshal(m.Call.Input, &input) // other shapes have no such key
	if input.Background || input.IsBack {
		return true
	}
	if slices.ContainsFunc(m.Analysis.Commands, collects) {
		return false
	}
	return slices.ContainsFunc(m.Analysis.Commands, func(c effect.Command) bool {
		return serves(&c) && !slices.Contains(c.Via, "timeout")
	})
}

// Beside tells whether a command names files in a workspace that confined code in the background writes at once.
// Between the look at `sleep 3; cp a b` and its run, that code can make `b` a link to `~/.bashrc`. git itself follows
// no links of a work tree.
func Beside(state string, an *effect.Analysis) bool {
	sessions, err := Sessions(state)
	if err != nil {
		return false
	}
	for _, dir := range sessions {
		kept, err := confine.Left(dir)
		for i := range kept {
			if slices.ContainsFunc(kept[i].Write, func(root string) bool { return namesFiles(an, root) }) {
				return true
			}
		}
		if err != nil {
			return true // it cannot be known
		}
	}
	return false
}

// namesFiles tells whether a command reads or changes files in a directory, or in one around it.
func namesFiles(an *effect.Analysis, root string) bool {
	return slices.ContainsFunc(an.Effects, func(e effect.Effect) bool {
		if faces[e.Kind] == "" || e.Path == "" || e.Where != "" || e.Program == "git" {
			return false
		}
		return !e.Tags.Has(effect.List) && (paths.Inside(root, e.Path) || paths.Inside(e.Path, root))
	})
}

// moves tells whether a command changes the directory of the shell.
func moves(c effect.Command) bool {
	return slices.Contains([]string{"cd", "pushd", "popd"}, c.Program) && c.Nest&(shell.InSubshell|shell.InSubst) == 0
}

func serves(c *effect.Command) bool {
	if c.Nest&shell.InBackground != 0 || slices.Contains([]string{"nohup", "setsid", "daemonize", "disown"}, c.Program) {
		return true
	}
	words := staying()[c.Program]
	if len(words) > 0 && words[0] == "*" {
		return true
	}
	return slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return slices.Contains(words, w.Text) })
}

// collects tells whether a command waits for the others of the line, or ends them: `npm run dev & sleep 5; kill %1`.
func collects(c effect.Command) bool {
	return slices.Contains([]string{"wait", "kill", "pkill", "killall"}, c.Program) && c.Nest&shell.InBackground == 0
}
