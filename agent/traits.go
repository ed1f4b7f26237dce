package agent

import (
	"path"
	"slices"
	"strings"
)

// traits are the names by which an agent is recognised and guarded; each field is a list
// that is separated by blanks.
type traits struct {
	// programs start the agent, or are the last names of its packages: `claude`, and
	// `claude-code` of npx @anthropic-ai/claude-code.
	programs string
	// process are the names of the agent's own process, under which only the agent runs
	// commands; an editor with terminals for its user has none.
	process string
	// sets are variables that the agent sets for its commands and hooks.
	sets string
	// clients are the names by which its MCP client introduces itself.
	clients string
	// bare are flags by which it runs without its hooks or with other settings: `--bare`,
	// or `codex:-p` where other agents have the flag for something else.
	bare string
	// off are variables that switch its hooks off, moves those that move its settings
	// besides the variables of its places.
	off, moves string
	// hooks are files with hook entries besides its places, policies the files of its own
	// rules; a directory ends in a slash.
	hooks, policies string
	// setsIn are files of a project that set variables for the agent's commands.
	setsIn string
}

// A Trait is one name by which an agent is recognised, or a file of an agent's that
// guards it.
type Trait struct{ Kind, Text string }

// The kinds of traits. Of the paths, one that ends in / is a directory with everything in
// it, one that begins with / a place on the machine; any other is the end of a path.
const (
	PolicyTrait  = "policy"  // a file with the agent's own rules
	HookTrait    = "hook"    // a file with hook entries
	MovedTrait   = "moved"   // VARIABLE PATH: the same in the directory that a variable names
	ProgramTrait = "agent"   // a program or package that starts the agent
	BareTrait    = "bare"    // a flag by which it runs without its hooks
	MovesTrait   = "moves"   // a variable that moves its settings
	OffTrait     = "off"     // a variable that switches its hooks off
	ProcessTrait = "process" // the name of its process
	MarkTrait    = "marks"   // a variable that it sets for its commands
	SettingTrait = "setting" // a project's file that sets variables for its commands
)

// Traits returns the traits of all agents of some kinds (none: of all), each once, policies first,
// the others by kind and text.
func (l List) Traits(kinds ...string) []Trait {
	var out []Trait
	for _, a := range l {
		for kind, list := range map[string]string{PolicyTrait: a.policies, HookTrait: a.hooks, ProgramTrait: a.programs,
			BareTrait: a.bare, MovesTrait: a.moves, OffTrait: a.off, ProcessTrait: a.process, MarkTrait: a.sets,
			SettingTrait: a.setsIn} {
			if len(kinds) > 0 && !slices.Contains(kinds, kind) {
				continue
			}
			for word := range strings.FieldsSeq(list) {
				out = append(out, Trait{kind, word})
			}
		}
		for i := range a.places {
			for _, t := range a.places[i].traits() {
				if len(kinds) == 0 || slices.Contains(kinds, t.Kind) {
					out = append(out, t)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Trait) int {
		switch {
		case a.Kind == b.Kind:
			return strings.Compare(a.Text, b.Text)
		case a.Kind == PolicyTrait:
			return -1
		case b.Kind == PolicyTrait:
			return 1
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return slices.Compact(out)
}

// traits returns the files that a place guards.
func (p *place) traits() []Trait {
	end := ""
	if p.dir {
		end = "/"
	}
	switch p.scope {
	case Managed:
		return []Trait{{HookTrait, p.machine.linux + "/"}, {HookTrait, p.machine.mac + "/"},
			{HookTrait, strings.ReplaceAll(p.machine.windows, `\`, "/") + "/"}}
	case Project:
		return []Trait{{HookTrait, p.path + end}}
	}
	out := []Trait{{HookTrait, path.Join(p.under, p.path) + end}}
	if p.env != "" {
		out = append(out, Trait{MovedTrait, p.env + " " + p.path + end}, Trait{MovesTrait, p.env})
	}
	return out
}
