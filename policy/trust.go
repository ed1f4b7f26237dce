package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/paths"
)

// TrustVariable names directories in which nothing has to be accepted, for machines
// without a person, such as `OBSTAT_TRUST=/builds:/srv`. It counts only from who
// started the agent: an agent also hands variables of a project's settings to its
// hook.
const TrustVariable = "OBSTAT_TRUST"

// trusts tells whether a place lies in a directory that the variable names.
func (s *search) trusts(place string) bool {
	value := s.w.Getenv(TrustVariable)
	if value == "" || !s.usersOwn(TrustVariable) {
		return false
	}
	for _, dir := range filepath.SplitList(value) {
		if dir == "" || !filepath.IsAbs(dir) {
			continue
		}
		if real, err := resolve(filepath.Clean(dir)); err == nil && paths.Inside(real, place) {
			return true
		}
	}
	return false
}

// usersOwn tells whether the value that a variable has was given by who started the
// agent.
func (s *search) usersOwn(name string) bool {
	if s.w.Mine {
		return true
	}
	if own, known := started(name, s.w.Getenv(name)); known {
		return own
	}
	return !s.mentioned(name)
}

// settings are the files of a project that set variables for an agent and the
// programs it starts.
var settings = []string{".env", ".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json", ".gemini/.env", ".qwen/settings.json", ".qwen/.env",
	".codex/config.toml", ".cursor/hooks.json", ".vscode/settings.json", "opencode.json", "opencode.jsonc", ".opencode/opencode.json"}

// mentioned tells whether a project's settings speak of a variable.
func (s *search) mentioned(name string) bool {
	starts, _ := s.starts()
	for _, at := range starts {
		for _, dir := range ancestors(filepath.Clean(at), s.w.Home) {
			for _, file := range settings {
				if data, err := os.ReadFile(filepath.Join(dir, file)); err == nil && strings.Contains(string(data), name) {
					return true
				}
			}
		}
	}
	return false
}

// markers are variables that agents set for the commands they run. A process that
// has one was started by an agent, and so was an agent that has one.
var markers = []string{"CLAUDECODE=", "CODEX_SANDBOX=", "CODEX_SANDBOX_NETWORK_DISABLED=", "GEMINI_CLI=", "QWEN_CODE=", "OPENCODE=", "CURSOR_AGENT=", "COPILOT_CLI=", "CLINE_ACTIVE="}

// ByAgent tells whether an agent has started this process, as far as the
// environment says so.
func ByAgent(getenv func(string) string) bool {
	return slices.ContainsFunc(markers, func(m string) bool { return getenv(strings.TrimSuffix(m, "=")) != "" })
}

// gave tells whether an environment as /proc has it has this value for a variable
// and is of no agent's making.
func gave(environ, name, value string) bool {
	found := false
	for _, kv := range strings.Split(environ, "\x00") {
		for _, m := range markers {
			if strings.HasPrefix(kv, m) {
				return false
			}
		}
		found = found || kv == name+"="+value
	}
	return found
}
