package confined

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/effect"
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
	return slices.ContainsFunc(m.Analysis.Commands, func(c effect.Command) bool { return serves(&c) })
}

// moves tells whether a command changes the directory of the shell.
func moves(c effect.Command) bool {
	return slices.Contains([]string{"cd", "pushd", "popd"}, c.Program) && c.Nest&(shell.InSubshell|shell.InSubst) == 0
}

func serves(c *effect.Command) bool {
	if c.Nest&shell.InBackground != 0 || slices.Contains([]string{"nohup", "setsid", "daemonize", "disown"}, c.Program) {
		return true
	}
	for _, list := range []string{c.Program, "*"} {
		words := staying()[list]
		if len(words) > 0 && words[0] == "*" {
			return true
		}
		for i := range c.Args() {
			if slices.Contains(words, c.Args()[i].Text) {
				return true
			}
		}
	}
	return false
}
