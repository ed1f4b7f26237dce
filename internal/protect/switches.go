package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// isAgent tells whether a path or a package names an agent: `claude`, `@anthropic-ai/claude-code@latest`,
// `/usr/lib/node_modules/@qwen-code/qwen-code/cli.js`, where the package's directory tells.
func isAgent(program string) bool {
	segs := strings.Split(fold(strings.TrimPrefix(program, "npm:")), "/")
	for i, name := range segs {
		last := i == len(segs)-1
		if !last && (i == 0 || segs[i-1] != "node_modules" && !strings.HasPrefix(segs[i-1], "@")) {
			continue
		}
		if at := strings.LastIndexByte(name, '@'); at > 0 {
			name = name[:at]
		}
		if last && is("scripts", path.Ext(name)) {
			name = strings.TrimSuffix(name, path.Ext(name))
		}
		if is("agent", name) {
			return true
		}
	}
	return false
}

// startsAgent tells whether a command is an agent, or has one run, also by a link to it or a path from
// where it stands: `bunx opencode-ai`, `node gemini.js`, `cd .../qwen-code && node cli.js`.
func (k *check) startsAgent(c *effect.Command) bool {
	leads := func(w string) bool {
		if !strings.ContainsAny(w, "/.") {
			return false
		}
		at := k.resolve(c.Dir, w)
		return isAgent(at.Abs) || isAgent(at.Real)
	}
	switch {
	case c.ReadOnly || isObstat(c.Path):
		return false
	case isAgent(c.Program) || strings.Contains(c.Path, "/") && leads(c.Path):
		return true
	case c.Program == "" && len(c.Words) > 0:
		return speaksOf("agent", lower(c.Words[0].Raw)) // `$(which claude) --bare`
	}
	return is("runs", c.Program) && slices.ContainsFunc(c.Args(), func(w shell.Word) bool {
		return isAgent(w.Text) || w.Known && leads(w.Text) || !w.Known && speaksOf("agent", lower(w.Raw))
	})
}

// agent looks at an agent that is started without its hooks.
func (k *check) agent(c *effect.Command) *Finding {
	if c.ReadOnly {
		return nil
	}
	why := ""
	if as := slices.IndexFunc(c.Via, func(v string) bool { return is("inside", v) }); as >= 0 {
		why = "inside " + c.Via[as] + " an agent does not find what guards it; only a person allows that"
	} else if withoutHooks(c) {
		why = "it would start an agent without what guards it; only a person allows that"
	}
	if why == "" || !k.startsAgent(c) {
		return nil
	}
	return &Finding{Part: c.Text, Why: why}
}

// withoutHooks tells whether an agent's arguments take its hooks away: `--no-hooks`, `codex -p lax`,
// `-c 'features.hooks = false'`. Words of a prompt that speaks of hooks do not.
func withoutHooks(c *effect.Command) bool {
	args := c.Args()
	for i, w := range args {
		name, _, assigns := strings.Cut(w.Text, "=")
		switch {
		case is("bare", name), is("bare", c.Program+":"+name), w.Text == "hook":
			return true
		case !strings.Contains(lower(w.Text), "hooks"):
		case !strings.ContainsAny(w.Text, " \n"), assigns && i > 0 && (args[i-1].Text == "-c" || args[i-1].Text == "--config"), assigns && strings.HasPrefix(name, "--config"):
			return true
		}
	}
	return false
}

// variables looks at assignments that make obstat, or an agent that is started, look elsewhere, or that
// take an agent's hooks away, whoever reads them.
func (k *check) variables() *Finding {
	for _, name := range k.a.Assigned {
		switch {
		case strings.HasPrefix(name, "OBSTAT_"):
			return &Finding{Part: clip(k.a.Source), Why: "it sets a variable of obstat's; only a person does that"}
		case is("off", name):
			return &Finding{Part: clip(k.a.Source), Why: name + " takes away what guards an agent; only a person sets it"}
		}
	}
	moved := slices.IndexFunc(k.a.Assigned, func(name string) bool { return is("moves", name) })
	forgotten := slices.ContainsFunc(k.a.Commands, forgets)
	if moved < 0 && !forgotten {
		return k.startup()
	}
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		if !k.startsAgent(c) {
			continue
		}
		if forgotten {
			return &Finding{Part: clip(k.a.Source), Why: "without its variables, " + c.Program + " does not find what guards it; only a person allows that"}
		}
		return &Finding{Part: clip(k.a.Source), Why: "with " + k.a.Assigned[moved] + " changed, " + c.Program + " looks elsewhere for what guards it; only a person allows that"}
	}
	return k.startup()
}

// startup looks at a call that puts a variable which takes hooks away into a file that shells or agents
// read when they start: `echo export CLAUDE_CODE_SIMPLE=1 >> ~/.bashrc`.
func (k *check) startup() *Finding {
	for i := range k.a.Effects {
		e := &k.a.Effects[i]
		if e.Kind != effect.Write {
			continue
		}
		name := path.Base(fold(e.Path))
		if !is("startup", name) && !strings.HasPrefix(name, ".env") {
			continue
		}
		if of := switchIn(string(k.call.Input)); of != "" {
			return &Finding{Part: clip(e.Raw), Why: "it would set " + of + " in " + e.Path + ", which takes away what guards an agent; only a person sets it"}
		}
	}
	return nil
}

// switchIn returns the variable in a text that takes an agent's hooks away, or the flag that stands
// behind an agent's name; "" if there is none. Flags that other programs have as well, such as
// --profile, say nothing there.
func switchIn(text string) string {
	for _, name := range lists()["off"] {
		if speaks(text, name) {
			return name
		}
	}
	for _, flag := range lists()["bare"] {
		if is("common", flag) || !strings.HasPrefix(flag, "--") {
			continue
		}
		for rest := text; ; {
			before, after, found := strings.Cut(rest, flag)
			if !found {
				break
			}
			if (after == "" || !inWord(after[0])) && speaksOf("agent", lower(before[max(0, len(before)-1000):])) {
				return flag
			}
			rest = after
		}
	}
	return ""
}

// speaksOf tells whether a text in lower case has a word of a list in it.
func speaksOf(list, t string) bool {
	return slices.ContainsFunc(lists()[list], func(w string) bool { return speaks(t, w) })
}
