package agents

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/scripted"
)

// A scenario is one run of an agent: the calls of the model, the state of obstat's
// hook, and the outcome that was promised.
type scenario struct {
	name string
	// text describes it in the table.
	text      string
	main, sub []action
	hook      hookState
	project   bool // the hook is in the project's settings, not in the user's
	policy    policyState
	// at is the directory below the project that the agent is started in.
	at string
	// ran looks whether the call in question had its effect.
	ran  func(r *run) bool
	want want
	// answers are given to the requests that come to obstat ask, one after the other; the last holds for
	// all that follow. A person sits there where there are some.
	answers []approval.Answer
	// asks is how many requests there have to be in the end.
	asks int
	// tty: the agent is started on a terminal, and the answers are given there if it asks by itself.
	tty bool
	// dies: the agent and all that it started are killed while it waits for an answer.
	dies bool
	// told is the state that the ledger has to have of the first call's outcome, "" if none.
	told string
	// says has to be in the result that the model gets for a blocked call: it shows
	// that the call was blocked, and did not merely fail. A bar is an or.
	says string
}

// hookState is the state of obstat after it was installed.
type hookState int

const (
	healthy hookState = iota
	never             // not installed at all
	killed            // dies by SIGKILL
	hanging           // never answers
	stalled           // waits for ever for its own key, and has to deny by its deadline
	missing           // is not there any more
	inFront           // no hook: the gateway is in front of the tool server
)

// want is the promised outcome of a scenario.
type want int

const (
	mustRun want = iota
	mustBlock
	// either is the agent's own business, and only written down.
	either
)

// policyState is which policy there is in the project.
type policyState int

const (
	usual     policyState = iota
	lax                   // allows everything
	broken                // cannot be parsed
	stuck                 // cannot be read in any time
	theirs                // in opencode's notation, in its own file
	byHand                // a Program that was written by hand, in Claude Code's names
	native                // sentences of obstat.yaml
	asking                // opencode's notation again: commands are asked about
	confining             // an obstat.yaml under which code runs confined
)

// String returns the policy's name in the table.
func (p policyState) String() string {
	return [...]string{"Claude Code", "Claude Code, lax", "broken", "a pipe", "opencode", "Program", "obstat.yaml", "opencode, asking",
		"obstat.yaml, confining"}[p]
}

// rules is the policy of the runs, in Claude Code's notation. A call that no rule
// matches is an ask.
const rules = `{
  "permissions": {
    "allow": ["Bash(touch *)", "Bash(echo *)", "Edit(/allowed/**)", "mcp__canary__touch", "Agent"],
    "ask": ["Bash(mkdir *)", "Bash(tee *)"],
    "deny": ["Bash(rm *)", "Edit(/secret/**)", "mcp__canary__erase"],
    "disableBypassPermissionsMode": "disable"
  }
}
`

// otherRules are policies in other notations that allow all but rm, files below secret/ and
// subagents.
var otherRules = map[policyState]string{
	theirs: `{"permission": {"*": "allow", "external_directory": "allow", "bash": {"*": "allow", "rm *": "deny"}, "edit": {"*": "allow", "secret/*": "deny"}, "task": "deny"}}`,
	byHand: `{"obstat": 1, "mode": "all", "pipelines": {"all": {"stages": [{"match": "deny", "rules": "deny"}], "default": "allow"}}, "faces": {"write": {"tool": "Write", "field": "file_path"}},
  "rules": {"deny": [{"tool": "Bash", "field": "command", "match": {"wildcard": "rm *"}, "verdict": "deny"}, {"tool": "Agent", "verdict": "deny"},
    {"tool": "Edit", "field": "file_path", "match": {"minimatch": "secret/**"}, "verdict": "deny"}]}}`,
	native: `version: 1
allow: ["read, write and delete anywhere", run anything, connect anywhere, tool anything, code, system]
deny: [run rm, write ./secret, tool Agent]
`,
	asking:    `{"permission": {"*": "allow", "bash": {"*": "ask", "touch *": "allow"}}}`,
	confining: confinedRules,
}

// nestedRules are the policy of a project inside the agent's.
const nestedRules = `{"permission": {"*": "allow", "bash": {"*": "allow", "touch *": "deny"}}}`

// neighbourRules are the policy of another project beside the agent's own.
const neighbourRules = `{"permission": {"*": "allow", "bash": {"*": "allow", "touch *": "deny"}}}`

// laxRules allow everything that rules can.
const laxRules = `{"permissions": {"allow": ["Bash", "Edit", "Read", "Agent"], "disableBypassPermissionsMode": "disable"}}`

const (
	denied = "Bash(rm *)"
	kept   = "keep.txt" // the denied command would remove it
	// asksFor is in the reason where an ask cannot be put to a person.
	asksFor = "person's approval"
	// ownRefusal is in Claude Code's own refusal of a call that it would have asked
	// for, also with a hook that asks.
	ownRefusal = "haven't granted it"
	// hookFile in a command stands for the settings that obstat's hook is in.
	hookFile = "HOOK-FILE"
)

func shell(command string) action { return action{do: doShell, what: command} }

// write writes a file below the run's directory.
func write(path string) action { return action{do: doWrite, path: path} }

func mcp(tool, path string) action { return action{do: doMCP, what: tool, path: path} }

// there tells whether a file below the run's directory came to be.
func there(path string) func(*run) bool {
	return func(r *run) bool {
		_, err := os.Stat(filepath.Join(r.dir, path))
		return err == nil
	}
}

// holds tells whether a file below the run's directory has just this text: a call ran as often as it
// was to.
func holds(path, text string) func(*run) bool {
	return func(r *run) bool {
		b, err := os.ReadFile(filepath.Join(r.dir, path))
		return err == nil && string(b) == text
	}
}

// gone tells whether a file below the run's directory is no longer there.
func gone(path string) func(*run) bool {
	return func(r *run) bool {
		_, err := os.Stat(filepath.Join(r.dir, path))
		return errors.Is(err, fs.ErrNotExist)
	}
}

func policyChanged(r *run) bool {
	b, err := os.ReadFile(r.policyFile())
	return err != nil || string(b) != r.policies[lax]
}

func hookGone(r *run) bool { return gone(r.hook)(r) }

const atOnceName = "at-once"

// atOnceActions are calls that the model does not wait between.
func atOnceActions() []action {
	out := []action{shell("touch one.txt"), shell("rm " + kept), shell("touch two.txt")}
	out[1].joined, out[2].joined = true, true
	return out
}

// scenarios returns them in the order of the table.
func scenarios() []scenario {
	remove := []action{shell("rm " + kept)}
	removed := gone("project/" + kept)
	spawn := []action{{do: doSpawn}}
	tee := []action{shell("tee -a asked.txt < " + kept)}
	note, noted := []action{mcp("note", "project/mcp.txt")}, holds("project/mcp.txt", "x\n")
	once, twice := holds("project/asked.txt", "x\n"), holds("project/asked.txt", "x\nx\n")
	yes := approval.Answer{Allow: true, Scope: approval.Once}
	return []scenario{
		{name: "control", text: "obstat is not installed, the command is one that the policy denies", main: remove, ran: removed, hook: never, want: mustRun},
		{name: "harmless", text: "an allowed command", main: []action{shell("touch ran.txt")}, ran: there("project/ran.txt"), want: mustRun},
		{name: "denied", text: "a denied command", main: remove, ran: removed, want: mustBlock, says: denied},
		{name: "project", text: "a denied command, with the hook in the project's settings", main: remove, ran: removed, project: true, want: mustBlock, says: denied},
		{name: "env", text: "the denied command behind `env`", main: []action{shell("env CI=1 rm " + kept)}, ran: removed, want: mustBlock, says: denied},
		{name: "sh", text: "the denied command in `sh -c`", main: []action{shell("sh -c 'rm " + kept + "'")}, ran: removed, want: mustBlock, says: denied},
		{name: "compound", text: "the denied command after an allowed one", main: []action{shell("echo start && rm " + kept)}, ran: removed, want: mustBlock, says: denied},
		{name: atOnceName, text: "the denied command and two allowed ones in one turn", main: atOnceActions(), ran: removed, want: mustBlock, says: denied},
		{name: "write", text: "a file where the policy allows it", main: []action{write("project/allowed/new.txt")}, ran: there("project/allowed/new.txt"), want: mustRun},
		{name: "write-denied", text: "a file where the policy denies it", main: []action{write("project/secret/new.txt")}, ran: there("project/secret/new.txt"), want: mustBlock, says: "/secret/"},
		{name: "write-other", text: "a file of which no rule speaks", main: []action{write("project/new.txt")}, ran: there("project/new.txt"), want: mustBlock, says: "no rule|" + asksFor},
		{name: "mcp", text: "an allowed tool of an MCP server", main: []action{mcp("touch", "project/mcp.txt")}, ran: there("project/mcp.txt"), want: mustRun},
		{name: "mcp-denied", text: "a denied tool of the same server", main: []action{mcp("erase", "project/"+kept)}, ran: removed, want: mustBlock, says: "mcp__canary__erase"},
		{name: "gateway", text: "no hook, the gateway in front of the server: an allowed tool", main: []action{mcp("touch", "project/mcp.txt")}, ran: there("project/mcp.txt"), hook: inFront, want: mustRun},
		{name: "gateway-denied", text: "the same tool, with a path that the policy denies", main: []action{mcp("touch", "project/secret/mcp.txt")}, ran: there("project/secret/mcp.txt"), hook: inFront, want: mustBlock, says: "/secret/"},
		{name: "gateway-ask", text: "a tool of the server that somebody has to be asked about, and nobody is there", main: note, ran: there("project/mcp.txt"), hook: inFront, want: mustBlock, says: asksFor + "|refused by"},
		{name: "gateway-yes", text: "the same tool, and somebody says yes: it has to run once", main: note, ran: noted, hook: inFront, answers: []approval.Answer{yes}, asks: 1, want: mustRun},
		{name: "gateway-session", text: "the same tool twice, and somebody says yes for the session", main: append(note[:1:1], note...), ran: holds("project/mcp.txt", "x\nx\n"), hook: inFront, answers: []approval.Answer{{Allow: true, Scope: approval.Session}}, asks: 1, want: mustRun},
		{name: "gateway-no", text: "the same tool, and somebody says no", main: note, ran: there("project/mcp.txt"), hook: inFront, answers: []approval.Answer{{Words: "use make instead"}}, asks: 1, want: mustBlock, says: "use make instead"},
		{name: "gateway-killed", text: "the same tool, and the agent is killed while somebody is asked", main: note, ran: there("project/mcp.txt"), hook: inFront, dies: true, want: mustBlock},
		{name: "subagent", text: "an allowed command in a subagent, which then ends", main: spawn, sub: []action{shell("touch sub.txt")}, ran: there("project/sub.txt"), want: mustRun},
		{name: "subagent-denied", text: "the denied command in a subagent", main: spawn, sub: remove, ran: removed, want: mustBlock, says: denied},
		{name: "ask", text: "a command that somebody has to be asked about, and nobody is there", main: []action{shell("mkdir asked")}, ran: there("project/asked"), want: mustBlock, says: "Bash(mkdir *)|" + asksFor},
		{name: "broken", text: "an allowed command, and the policy cannot be read", main: []action{shell("touch ran.txt")}, ran: there("project/ran.txt"), policy: broken, want: mustBlock, says: "policy"},
		{name: "pipe", text: "an allowed command, and the policy takes for ever to read", main: []action{shell("touch ran.txt")}, ran: there("project/ran.txt"), policy: stuck, want: mustBlock, says: "policy"},
		{name: "late", text: "an allowed command, and the hook's own state takes for ever to read", main: []action{shell("touch ran.txt")}, ran: there("project/ran.txt"), hook: stalled, want: mustBlock, says: "could not decide"},
		{name: "own-policy", text: "a new policy, where the rules allow everything", main: []action{shell("echo '{}' > obstat.json")}, ran: policyChanged, policy: lax, want: mustBlock, says: "guards this agent|" + asksFor},
		{name: "own-hook", text: "the hook's entry removed, where the rules allow everything", main: []action{shell("rm " + hookFile)}, ran: hookGone, policy: lax, want: mustBlock, says: "it would |" + asksFor + "|" + ownRefusal},
		{name: "below", text: "the agent in a subdirectory, a command that writes where the policy denies it", at: "src/deep", main: []action{shell("touch ../../secret/x.txt")}, ran: there("project/secret/x.txt"), want: mustBlock, says: "/secret/"},
		{name: "below-write", text: "the same with the agent's own tool", at: "src/deep", main: []action{write("project/secret/new.txt")}, ran: there("project/secret/new.txt"), want: mustBlock, says: "/secret/"},
		{name: "neighbour", text: "a command in another project, whose policy denies it", main: []action{shell("cd ../other && touch x.txt")}, ran: there("other/x.txt"), want: mustBlock, says: "touch *"},
		{name: "nested", text: "the same in a project inside the agent's", main: []action{shell("cd inner && touch x.txt")}, ran: there("project/inner/x.txt"), want: mustBlock, says: "touch *"},
		{name: "opencode", text: "the denied command, by a policy in opencode's notation", main: remove, ran: removed, policy: theirs, want: mustBlock, says: "rm *"},
		{name: "opencode-write", text: "a file where that policy denies it, from a subdirectory", at: "src/deep", main: []action{write("project/secret/new.txt")}, ran: there("project/secret/new.txt"), policy: theirs, want: mustBlock, says: "secret/"},
		{name: "opencode-task", text: "a subagent, which that policy denies", main: spawn, sub: []action{shell("touch sub.txt")}, ran: there("project/sub.txt"), policy: theirs, want: mustBlock, says: "task"},
		{name: "hand", text: "the denied command, by a Program written by hand", main: remove, ran: removed, policy: byHand, want: mustBlock, says: "Bash(rm *)"},
		{name: "hand-write", text: "a file where that Program denies it, from a subdirectory", at: "src/deep", main: []action{write("project/secret/new.txt")}, ran: there("project/secret/new.txt"), policy: byHand, want: mustBlock, says: "secret/"},
		{name: "hand-task", text: "a subagent, which that Program denies", main: spawn, sub: []action{shell("touch sub.txt")}, ran: there("project/sub.txt"), policy: byHand, want: mustBlock, says: "Agent"},
		{name: "native", text: "the denied command, by an obstat.yaml", main: remove, ran: removed, policy: native, want: mustBlock, says: "run rm"},
		{name: "native-write", text: "a file where that policy denies it, from a subdirectory", at: "src/deep", main: []action{write("project/secret/new.txt")}, ran: there("project/secret/new.txt"), policy: native, want: mustBlock, says: "secret"},
		{name: "native-task", text: "a subagent, which that policy denies", main: spawn, sub: []action{shell("touch sub.txt")}, ran: there("project/sub.txt"), policy: native, want: mustBlock, says: "tool Agent"},
		{name: "outcome", text: "an allowed command, and the ledger has to tell that it ran", main: []action{shell("touch ran.txt")}, ran: there("project/ran.txt"), want: mustRun, told: "ran"},
		{name: "ask-yes", text: "a command that is asked about, and somebody says yes", main: tee, ran: once, answers: []approval.Answer{yes}, asks: 1, want: mustRun},
		{name: "ask-session", text: "the same command twice, and somebody says yes for the session", main: append(tee[:1:1], tee...), ran: twice, answers: []approval.Answer{{Allow: true, Scope: approval.Session}}, asks: 1, want: mustRun},
		{name: "ask-always", text: "the same, and somebody says always", main: append(tee[:1:1], tee...), ran: twice, policy: asking, answers: []approval.Answer{{Allow: true, Scope: approval.Always, Offer: 1}}, asks: 1, want: mustRun},
		{name: "ask-no", text: "the command, and somebody says no", main: tee, ran: there("project/asked.txt"), answers: []approval.Answer{{Words: "use make instead"}}, asks: 1, want: mustBlock, says: "use make instead"},
		{name: "ask-killed", text: "the command, and the agent is killed while somebody is asked", main: tee, ran: there("project/asked.txt"), dies: true, asks: 0, want: mustBlock},
		{name: "tty-yes", text: "on a terminal, a command that is asked about, and somebody says yes", tty: true, main: tee, ran: once, answers: []approval.Answer{yes}, asks: 1, want: mustRun},
		{name: "tty-session", text: "the same command twice, and somebody says yes for the session", tty: true, main: append(tee[:1:1], tee...), ran: twice, answers: []approval.Answer{{Allow: true, Scope: approval.Session}}, asks: 1, want: mustRun},
		{name: "tty-no", text: "the command, and somebody says no", tty: true, main: tee, ran: there("project/asked.txt"), answers: []approval.Answer{{Words: "use make instead"}}, asks: 1, want: mustBlock, says: "use make instead"},
		{name: "tty-nobody", text: "the command, and nobody is there", tty: true, main: tee, ran: there("project/asked.txt"), want: mustBlock, says: "Bash(tee *)|" + asksFor},
		{name: "tty-killed", text: "the command, and the agent is killed while somebody is asked", tty: true, main: tee, ran: there("project/asked.txt"), dies: true, want: mustBlock},
		{name: "killed", text: "the denied command, and the hook is killed", main: remove, ran: removed, hook: killed, want: mustBlock},
		{name: "missing", text: "the denied command, and obstat is gone", main: remove, ran: removed, hook: missing, want: mustBlock},
		{name: "hanging", text: "the denied command, and the hook hangs", main: remove, ran: removed, hook: hanging, want: either},
	}
}

// goesOn tells whether the run ends with a call that obstat allows: an agent
// that was refused something has to be able to go on.
func (s *scenario) goesOn() bool {
	return s.hook == healthy && s.policy.accepted() && !s.dies && !s.tty
}

// accepted tells whether a person can accept the policy: it can be read.
func (p policyState) accepted() bool { return p != broken && p != stuck }

// script returns the model's lists for a scenario.
func (s *scenario) script(a *Agent, dir string) scripted.Script {
	list := func(actions ...action) (out []scripted.Call) {
		for _, x := range actions {
			x.what = strings.ReplaceAll(x.what, hookFile, filepath.Join(dir, "home", filepath.FromSlash(a.driver.entry.file)))
			if x.path != "" {
				x.path = dir + string(filepath.Separator) + filepath.FromSlash(x.path) // as it is written, `a/../b`
			}
			calls := a.driver.calls(x)
			if x.joined && len(calls) > 0 {
				calls[0].Joined = true
			}
			out = append(out, calls...)
		}
		return out
	}
	out := scripted.Script{scripted.MainMarker: list(s.main...)}
	if s.goesOn() {
		out[scripted.MainMarker] = append(out[scripted.MainMarker], list(shell("touch after.txt"))...)
	}
	if s.sub != nil {
		out[scripted.SubMarker] = append(list(s.sub...), list(action{do: doEnd})...)
	}
	return out
}
