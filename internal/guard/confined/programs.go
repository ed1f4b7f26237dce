package confined

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/pattern"
)

// maxPrograms bounds the programs of PATH that are asked about.
const maxPrograms = 20_000

// programs hides the files of programs that a rule refuses to run, whatever their arguments are:
// every name by which PATH finds them. The same by other means is listed as not enforced.
func (m *maker) programs() error {
	p := m.profile()
	neutralRun := m.Runs(neutral + " x")
	for i := range m.Rules {
		r := &m.Rules[i]
		if neutralRun.Rule != nil && neutralRun.Rule.Pos == r.Pos {
			continue // what holds where no other rule does
		}
		m.gap("the same as "+r.Verdict.String()+" rule "+r.String()+at(r.Pos)+" by other means",
			"the rule is about a command; code is held by files, programs and hosts")
	}
	asked := map[string]bool{}
	refused := func(name string) bool {
		if r, ok := asked[name]; ok {
			return r
		}
		d := m.Runs(name + " x")
		// Not `delete anything`, which is about the file that `rm x` deletes.
		asked[name] = refuses(&d) && !sameRule(&d, &neutralRun) && m.isCommandRule(d.Rule)
		return asked[name]
	}
	count := 0
	for _, dir := range filepath.SplitList(m.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, err := m.memo.walk(realOf(dir), "run", 1, maxNames, func(name string, isDir bool) bool {
			count++
			return !isDir && count <= maxPrograms && runnable(filepath.Base(name)) && refused(filepath.Base(name))
		}, nil)
		if err != nil {
			return unfit("the programs in %s: %v", dir, err)
		}
		for _, name := range found {
			p.Hidden = append(p.Hidden, name)
			if real := realOf(name); real != name && filepath.Base(real) == filepath.Base(name) {
				p.Hidden = append(p.Hidden, real)
			}
		}
	}
	if count > maxPrograms {
		return unfit("PATH holds more than %d programs", maxPrograms)
	}
	m.memo.save()
	return nil
}

// isCommandRule tells whether a rule is one about commands.
func (m *maker) isCommandRule(r *obstat.Rule) bool {
	return r != nil && slices.ContainsFunc(m.Rules, func(o obstat.Rule) bool { return o.Pos == r.Pos })
}

// Rules returns the deny and ask rules of Programs about commands, each once. A confined run takes a
// program out of view where a rule is about all of it; the rest is told as not enforced for code.
func Rules(programs []*obstat.Program, shell string) (out []obstat.Rule) {
	for _, p := range programs {
		for _, list := range p.Rules {
			for i := range list {
				r := &list[i]
				same := func(o obstat.Rule) bool { return o.Pos == r.Pos && o.String() == r.String() }
				if r.Verdict != obstat.Allow && r.Pos.IsValid() && aboutCommands(r, shell) && !slices.ContainsFunc(out, same) {
					out = append(out, *r)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b obstat.Rule) int { return strings.Compare(a.Pos.String(), b.Pos.String()) })
	return out
}

// aboutCommands tells whether a rule names the shell's tool, or what the native language calls running.
func aboutCommands(r *obstat.Rule, shell string) bool {
	if r.Tool.IsZero() || slices.Contains(effect.ToolKinds(r.Tool.Text), "shell") {
		return !r.Tool.IsZero()
	}
	p, err := pattern.Compile(r.Tool.Flavour, r.Tool.Text)
	if err != nil {
		return false
	}
	for _, name := range []string{shell, "run"} {
		if ok, err := p.Match(name); ok && err == nil {
			return true
		}
	}
	return false
}

// runnable tells whether a name can stand in a command as it is.
func runnable(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\n\"'\\$`;&|<>()*?[]{}#~!=") && name[0] != '-'
}

// at returns where a rule is written, with a blank before it.
func at(pos obstat.Pos) string {
	if !pos.IsValid() {
		return ""
	}
	return " (" + pos.String() + ")"
}

// socketVariables lead to sockets, which are closed unless a rule opens one.
var socketVariables = map[string]string{"SSH_AUTH_SOCK": "", "DBUS_SESSION_BUS_ADDRESS": "unix:path=",
	"DOCKER_HOST": "unix://", "GPG_AGENT_INFO": "", "WAYLAND_DISPLAY": "", "DISPLAY": "", "XAUTHORITY": ""}

// environment keeps the variables that hold no secret.
func (m *maker) environment() {
	p := m.profile()
	if m.Server != nil {
		m.out.Env = m.Server.Env
	}
	p.Env.Keep = slices.Concat(Keep(m.Environ, p.Sockets), m.out.Env)
	p.Env.Set = map[string]string{"OBSTAT_CONFINED": "1"}
	if m.root != m.work {
		p.Env.Set["GIT_DISCOVERY_ACROSS_FILESYSTEM"] = "1" // the workspace may be a mount of its own
	}
}

// Keep returns the names of the variables that a confined command gets: those that neither look like
// secrets, by their names or their values, nor lead to a socket that is closed.
func Keep(environ, sockets []string) (out []string) {
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.HasPrefix(name, "OBSTAT_") || strings.ContainsAny(name, "*\x00") {
			continue
		}
		if slices.Contains(proxyVariables, name) { // hosts are reached by their names, and a proxy is none of them
			continue
		}
		if prefix, leads := socketVariables[name]; leads {
			at, _, _ := strings.Cut(strings.TrimPrefix(value, prefix), ",")
			if !slices.Contains(sockets, at) {
				continue
			}
		} else if secretVariable(name, value) {
			continue
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// secretVariable tells whether a variable holds a secret: by its name, unless the value is too plain for one or leads
// to a file, which is hidden where it is a secret; or by the shape of its value, whatever the name is.
func secretVariable(name, value string) bool {
	if effect.SecretVariable(name) && !strings.HasSuffix(strings.ToUpper(name), "_FILE") && !harmlessValue(value) {
		return true
	}
	at := strings.Index(value, "://")
	if at > 0 && strings.Contains(strings.SplitN(value[at+3:], "/", 2)[0], "@") { // https://user:password@host
		return true
	}
	return ledger.IsSecret(name, value)
}

// harmlessValue tells whether a value is too plain for a secret: a switch, or a small number as of MAX_TOKENS.
func harmlessValue(value string) bool {
	return slices.Contains([]string{"", "true", "false", "yes", "no", "on", "off"}, strings.ToLower(value)) ||
		len(value) < 5 && strings.Trim(value, "0123456789") == ""
}

// sockets opens those that a rule allows to be written by their own name: ssh-agent, docker, the bus.
func (m *maker) sockets() error {
	p := m.profile()
	candidates := []string{"/var/run/docker.sock", "/run/docker.sock"}
	for name, prefix := range socketVariables {
		at, _, _ := strings.Cut(strings.TrimPrefix(m.Getenv(name), prefix), ",")
		if filepath.IsAbs(at) {
			candidates = append(candidates, filepath.Clean(at))
		}
	}
	slices.Sort(candidates)
	for _, name := range slices.Compact(candidates) {
		info, err := os.Stat(name)
		if err != nil || info.Mode()&os.ModeSocket == 0 {
			continue
		}
		d := m.Ask(obstat.FaceWrite, name)
		around := m.Ask(obstat.FaceWrite, filepath.Join(filepath.Dir(name), neutral))
		if d.Verdict == obstat.Allow && d.Rule != nil && d.Rule.Pos.IsValid() && around.Verdict != obstat.Allow {
			p.Sockets = append(p.Sockets, name)
		}
	}
	if m.Machine.Level == confine.LevelFiles && len(p.Sockets) > 0 {
		p.Sockets = nil
		m.gap("sockets that rules open", "at level files all would be open with one; they are closed")
	}
	return nil
}
