package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
	"github.com/obstat/obstat/shell"
)

// isObstat tells whether a word names one of obstat's programs.
func isObstat(s string) bool {
	switch strings.TrimSuffix(path.Base(fold(s)), ".exe") {
	case "obstat", "obstat-hook":
		return true
	}
	return false
}

// looks tells of obstat's commands that change nothing; of those that it returns
// words for, only with these behind them.
func looks(command string) (only []string, ok bool) {
	switch command {
	case "check", "explain", "effects", "test", "version", "help", "completion", "stats", "status", "replay", "doctor", "lint", "demo":
		return nil, true
	case "policy":
		return []string{"show", "validate", "lint", "diff", "why"}, true
	case "log":
		return []string{"verify", "export"}, true
	case "ask":
		return []string{"--list"}, true
	case "grants", "permissions":
		return []string{}, true
	}
	return nil, false
}

// obstat looks at an agent that runs obstat.
func (k *check) obstat(c *effect.Command) *Finding {
	own := isObstat(c.Path)
	if !own && strings.Contains(c.Path, "/") {
		real := fold(k.resolve(c.Dir, c.Path).Real)
		own = slices.ContainsFunc(k.g.Programs, func(p string) bool { return fold(p) == real })
	}
	if own && !onlyLooks(c.Args()) {
		return &Finding{Part: c.Text, Why: "it would change what obstat allows or has written down; only a person does that"}
	}
	if installs(c) {
		return &Finding{Part: c.Text, Why: "it would change " + isProgram + "; only a person allows that"}
	}
	return nil
}

// installing are words of package managers for installing, replacing and removing.
var installing = []string{"install", "uninstall", "reinstall", "remove", "purge", "upgrade", "update", "add", "i", "rm", "un", "link", "unlink", "-S", "-R", "-i", "-r", "-e"}

// installs tells whether a command installs, replaces or removes obstat: `brew uninstall
// obstat`, `rm $(which obstat)`.
func installs(c *effect.Command) bool {
	changes, names := false, false
	for _, w := range c.Args() {
		changes = changes || slices.Contains(installing, w.Text)
		name, _, _ := strings.Cut(w.Text, "@")
		names = names || w.Known && isObstat(name)
	}
	return changes && names && !c.ReadOnly && c.Program != "git"
}

// operands returns the words that are no flags.
func operands(args []shell.Word) (out []shell.Word) {
	for i := range args {
		if t := args[i].Text; !strings.HasPrefix(t, "-") || t == "-" {
			out = append(out, args[i])
		}
	}
	return out
}

// onlyLooks tells whether the arguments are those of a command that changes
// nothing.
func onlyLooks(args []shell.Word) bool {
	sub := -1
	for i := range args {
		if !args[i].Known {
			return false
		}
		if !strings.HasPrefix(args[i].Text, "-") {
			sub = i
			break
		}
	}
	if sub < 0 {
		return true // its help
	}
	may, ok := looks(args[sub].Text)
	if !ok {
		return false
	}
	if may == nil || flag(args, "--help", "-h") {
		return true
	}
	rest := args[sub+1:]
	if args[sub].Text == "ask" {
		return flag(rest, "--list")
	}
	ops := operands(rest)
	if args[sub].Text == "log" || args[sub].Text == "grants" {
		// Its subcommands come first, and flags before them may have values.
		return !slices.ContainsFunc(rest, func(w shell.Word) bool { return w.Text == "trim" || w.Text == "revoke" })
	}
	return len(ops) == 0 || slices.Contains(may, ops[0].Text)
}

// changers are words behind obstat's name that change something.
var changers = []string{"install", "uninstall", "grants", "ask", "trim", "permissions", "add-dir", "hook"}

// changesObstat tells whether a text that nobody looks into runs obstat.
func changesObstat(text string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "obstat")
		if !ok {
			return false
		}
		rest = after
		word := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(after, "-hook"), ".exe"), " \t\"',[]()-")
		if slices.ContainsFunc(changers, func(c string) bool { return strings.HasPrefix(word, c) }) {
			return true
		}
	}
}

// victims are what obstat's processes look like to who looks for them.
var victims = []string{"obstat", "obstat-hook", "/usr/local/bin/obstat hook claude-code", "obstat-hook claude-code"}

// kill looks at commands that end processes.
func (k *check) kill(c *effect.Command) *Finding {
	hit := false
	switch c.Program {
	case "pkill", "skill", "pgrep":
		hit = c.Program != "pgrep" && matchesObstat(c)
	case "killall":
		hit = matchesObstat(c)
	case "killall5":
		hit = true
	case "kill":
		hit = !c.Known && k.looksForObstat() || speaks(lower(k.a.Source), "obstat") || slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return w.Text == "-1" && len(c.Args()) > 1 })
	case "systemctl", "service", "launchctl", "taskkill", "fuser", "xkill":
		hit = !c.ReadOnly && strings.Contains(lower(c.Text), "obstat")
	}
	if hit {
		return &Finding{Part: c.Text, Why: "it would end obstat, which guards this agent; only a person allows that"}
	}
	return nil
}

// looksForObstat tells whether one of the commands looks for obstat's processes.
func (k *check) looksForObstat() bool {
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		switch c.Program {
		case "pgrep", "pidof":
			if matchesObstat(c) {
				return true
			}
		case "grep", "egrep", "fgrep", "rg", "awk", "gawk":
			if ops := operands(c.Args()); len(ops) > 0 && matchesObstat(&effect.Command{Words: append([]shell.Word{{}}, ops[0])}) {
				return true
			}
		}
	}
	return false
}

// matchesObstat tells whether a pattern of processes takes obstat's.
func matchesObstat(c *effect.Command) bool {
	for _, w := range c.Args() {
		if !w.Known {
			return true
		}
		if strings.HasPrefix(w.Text, "-") {
			continue
		}
		re, err := pattern.Compile(pattern.Search, "(?i)"+w.Text)
		if err != nil || slices.ContainsFunc(victims, func(v string) bool { ok, err := re.Match(v); return ok || err != nil }) {
			return true
		}
	}
	return false
}

// agents are programs that start an agent, by their base names.
var agents = agentWords("agent", "obstat", "obstat-hook")

func isAgent(program string) bool {
	return slices.Contains(agents, strings.TrimSuffix(fold(program), ".exe"))
}

// bare are flags with which agents run without their hooks or with other
// settings.
var bare = agentWords("bare")

// others are programs inside which the settings are another user's, or none.
var others = []string{"sudo", "doas", "su", "runuser", "pkexec", "chroot", "unshare", "bwrap", "firejail"}

// agent looks at an agent that is started without its hooks.
func (k *check) agent(c *effect.Command) *Finding {
	if !isAgent(c.Program) || isObstat(c.Program) {
		return nil
	}
	if as := slices.IndexFunc(c.Via, func(v string) bool { return slices.Contains(others, v) }); as >= 0 {
		return &Finding{Part: c.Text, Why: "inside " + c.Via[as] + " an agent does not find what guards it; only a person allows that"}
	}
	for _, w := range c.Args() {
		name, _, _ := strings.Cut(w.Text, "=")
		if slices.Contains(bare, name) || strings.Contains(lower(w.Text), "hooks") && !strings.ContainsAny(w.Text, " \n") {
			return &Finding{Part: c.Text, Why: "it would start an agent without what guards it; only a person allows that"}
		}
	}
	return nil
}

// moves are variables that say where agents and obstat look for their settings.
var moves = agentWords("moves", "HOME", "PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "JIUWENSWARM_CONFIG_DIR")

// variables looks at assignments that make obstat, or an agent that is started,
// look elsewhere.
func (k *check) variables() *Finding {
	for _, name := range k.a.Assigned {
		if strings.HasPrefix(name, "OBSTAT_") {
			return &Finding{Part: clip(k.a.Source), Why: "it sets a variable of obstat's; only a person does that"}
		}
	}
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		if !isAgent(c.Program) {
			continue
		}
		if forgets(k.a.Commands) {
			return &Finding{Part: clip(k.a.Source), Why: "without its variables, " + c.Program + " does not find what guards it; only a person allows that"}
		}
		for _, name := range k.a.Assigned {
			if slices.Contains(moves, name) {
				return &Finding{Part: clip(k.a.Source), Why: "with " + name + " changed, " + c.Program + " looks elsewhere for what guards it; only a person allows that"}
			}
		}
	}
	return nil
}

// forgets tells whether one of the commands takes variables away.
func forgets(list []effect.Command) bool {
	return slices.ContainsFunc(list, func(c effect.Command) bool {
		switch c.Program {
		case "unset":
			return slices.ContainsFunc(c.Args(), func(w shell.Word) bool { return !w.Known || slices.Contains(moves, w.Text) })
		case "env":
			return slices.ContainsFunc(c.Args(), func(w shell.Word) bool {
				return w.Text == "-" || w.Text == "--ignore-environment" || strings.HasPrefix(w.Text, "-i") || strings.HasPrefix(w.Text, "-u") || strings.HasPrefix(w.Text, "--unset")
			})
		}
		return false
	})
}
