package protect

import (
	"encoding/json"
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
		sets := assigns && (i > 0 && is("configures", args[i-1].Text) || strings.HasPrefix(name, "--config"))
		switch {
		case is("bare", name), is("bare", c.Program+":"+name), w.Text == "hook":
			return true
		case strings.Contains(lower(w.Text), "hooks") && (sets || !strings.ContainsAny(w.Text, " \n")):
			return true
		}
	}
	return false
}

// variables looks at assignments that make obstat, or an agent that is started, look elsewhere, or that
// take an agent's hooks away.
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
			return &Finding{Part: clip(k.a.Source), Why: "without its variables, " + c.Program +
				" does not find what guards it; only a person allows that"}
		}
		return &Finding{Part: clip(k.a.Source), Why: "with " + k.a.Assigned[moved] + " changed, " + c.Program +
			" looks elsewhere for what guards it; only a person allows that"}
	}
	return k.startup()
}

// types looks at a command that types into a terminal of others, where a person may be at the prompt
// of a shell or of obstat: `tmux send-keys -t 0 y Enter`, `screen -X stuff y`, `gdb -p 812`.
func (k *check) types(c *effect.Command) *Finding {
	program := strings.TrimSuffix(fold(c.Program), ".exe")
	if !slices.ContainsFunc(listed("types"), func(entry string) bool {
		rest, same := strings.CutPrefix(entry, program)
		if !same || rest != "" && rest[0] != ':' {
			return false
		}
		word, some := strings.CutPrefix(rest, ":")
		return !some || slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return cutShort(w.Text, word) })
	}) {
		return nil
	}
	return &Finding{Part: c.Text, Why: "it types into a terminal or takes a process over that may be a person's; only a " +
		"person allows that"}
}

// cutShort tells whether a word is another one, whole, with a value (`--pid=8`, `-p8`), or cut short
// as tmux lets it be: `send`, `send-k`.
func cutShort(word, whole string) bool {
	word, _, _ = strings.Cut(word, " ") // `gdb -ex 'attach 812'`
	switch {
	case word == whole:
		return true
	case whole == "#":
		return word != "" && strings.Trim(word, "0123456789") == ""
	case strings.HasPrefix(whole, "--"):
		return strings.HasPrefix(word, whole+"=")
	case strings.HasPrefix(whole, "-"):
		rest, ok := strings.CutPrefix(word, whole)
		return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
	}
	return len(word) >= 4 && strings.HasPrefix(whole, word)
}

// later looks at a call that puts a command of obstat's which loosens into a file that a person, or
// a person's program, runs later: `echo obstat trust --yes >> ~/.bashrc`, a script of package.json.
func (k *check) later() *Finding {
	if !loosens(lower(string(k.call.Input))) {
		return nil
	}
	var files []string
	for i := range k.a.Effects {
		if e := &k.a.Effects[i]; e.Kind == effect.Write {
			files = append(files, e.Path)
		}
	}
	if k.a.Tool == "mcp" || k.a.Tool == "" {
		var v any
		_ = json.Unmarshal(k.call.Input, &v) // an input that no tool takes names no file
		walk(v, "", 0, func(_, text string) { files = append(files, text) })
	}
	at := slices.IndexFunc(files, func(name string) bool { return isTask("/" + fold(name)) })
	if at < 0 {
		return nil
	}
	return &Finding{Part: clip(files[at]), Why: "it would put a command that loosens what obstat allows into " +
		clip(files[at]) +
		", where it runs later in a person's name; only a person allows that"}
}

// isTask tells whether commands of a file are run later, by others than its writer.
func isTask(name string) bool {
	base := path.Base(name)
	return slices.ContainsFunc(listed("tasks"), func(t string) bool {
		switch {
		case strings.HasSuffix(t, "/"):
			return strings.Contains(name, "/"+t)
		case strings.HasPrefix(t, "."):
			return strings.HasSuffix(base, t)
		}
		return base == t
	})
}

// loosens tells whether a text runs a command of obstat's that loosens: `obstat trust --yes`,
// `"obstat", "policy", "gc"`.
func loosens(text string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "obstat")
		if !ok {
			return false
		}
		rest, after = after, strings.TrimPrefix(after[:min(len(after), 400)], ".exe")
		if len(after) > 1 && after[0] == '/' && !strings.ContainsRune("\"'", rune(after[1])) {
			continue // a directory
		}
		words := strings.FieldsFunc(after, func(r rune) bool { return strings.ContainsRune(" \t\"',[]()/", r) })
		words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
		if len(words) > 0 && is("accepts", words[0]) || len(words) > 1 && is("accepts", words[0]+"."+words[1]) {
			return true
		}
	}
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
			return &Finding{Part: clip(e.Raw), Why: "it would set " + of + " in " + e.Path +
				", which takes away what guards an agent; only a person sets it"}
		}
	}
	return nil
}

// switchIn returns the variable in a text that takes an agent's hooks away, or the flag that stands
// behind an agent's name; "" if there is none. Flags that other programs have as well, such as
// --profile, say nothing there.
func switchIn(text string) string {
	for _, name := range listed("off") {
		if speaks(text, name) {
			return name
		}
	}
	for _, flag := range listed("bare") {
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
	return slices.ContainsFunc(listed(list), func(w string) bool { return speaks(t, w) })
}
