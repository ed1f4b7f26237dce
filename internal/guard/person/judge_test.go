package person

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// read makes a machine of a text: a line for each process with
// `pid parent session terminal uid started name exe`, then arguments behind `--` and the
// environment behind `env`, where + is a blank. A group is its session, and in front, unless `group=` says
// otherwise.
func read(t *testing.T, text string) *machine {
	t.Helper()
	all, groups, opened := map[int]*proc{}, map[int]string{}, map[int][]int{}
	m := &machine{uid: 1000, alive: func() bool { return true }, title: func(n int) string { return "pts/" + strconv.Itoa(n) }}
	for line := range strings.Lines(text) {
		line, env, _ := strings.Cut(strings.TrimSpace(line), " env ")
		line, args, _ := strings.Cut(line, " -- ")
		f := strings.Fields(line)
		if len(f) < 8 {
			if len(f) > 0 && f[0] == "namespace" {
				m.entered = true
			}
			continue
		}
		p := &proc{name: strings.ReplaceAll(f[6], "_", " "), args: strings.Fields(args), environ: strings.Fields(env)}
		for i, kv := range p.environ {
			p.environ[i] = strings.ReplaceAll(kv, "+", " ")
		}
		started := 0
		for i, to := range []*int{&p.pid, &p.parent, &p.session, &p.terminal, &p.uid, &started} {
			n, err := strconv.Atoi(f[i])
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			*to = n
		}
		if p.started, p.group = uint64(started), p.session; f[7] != "-" {
			p.exe = f[7]
		}
		for _, more := range f[8:] {
			name, value, _ := strings.Cut(more, "=")
			n, _ := strconv.Atoi(value)
			switch name {
			case "group":
				p.group = n
			case "front":
				p.front = n
			case "open":
				opened[p.pid] = append(opened[p.pid], n)
			case "cgroup":
				groups[p.pid] = value
			default:
				t.Fatalf("%q", more)
			}
		}
		if p.front == 0 {
			p.front = p.group
		}
		all[p.pid] = p
	}
	m.get = func(pid int) *proc { return all[pid] }
	m.pids = func() []int { return slices.Sorted(maps.Keys(all)) }
	m.cgroup = func(pid int) string { return groups[pid] }
	m.open = func(pid int) []int { return opened[pid] }
	m.mine = func(exe string) bool { return strings.HasPrefix(exe, "/home/") || strings.HasPrefix(exe, "/tmp/") }
	return m
}

// TestJudge: testdata has process trees, of people at their terminals and of agents, each
// with the answer that obstat, process 900, gets.
func TestJudge(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) == 0 {
		t.Fatal("there are no trees")
	}
	trees := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, tree := range strings.Split(string(data), "\n== ")[1:] {
			head, text, _ := strings.Cut(tree, "\n")
			want, name, _ := strings.Cut(head, ": ")
			trees++
			who, no := read(t, text).judge(900, "/srv/app")
			got := ""
			switch {
			case no != nil:
				got = string(no.Reason)
			case who.Trust != "":
				got = "trust"
			case who.Typed:
				got = "typed"
			default:
				got = "person"
			}
			if got != want {
				t.Errorf("%s: %s: %s (%v), want %s", file, name, got, no, want)
			}
			if no != nil && (no.Why == "" || no.Do == "") {
				t.Errorf("%s: %s: %+v says nothing", file, name, no)
			}
		}
	}
	if trees < 40 {
		t.Errorf("only %d trees", trees)
	}
}

// TestClosed: a terminal that is closed while a question is asked accepts nothing.
func TestClosed(t *testing.T) {
	const tree = "1 0 1 0 0 1 systemd -\n500 1 500 0 0 5 sshd -\n600 500 600 3 1000 6 bash /usr/bin/bash -- -bash\n900 600 600 3 1000 90 obstat /usr/bin/obstat group=900 front=900\n"
	m := read(t, tree)
	if who, no := m.judge(900, "/srv/app"); no != nil || !who.Typed || who.Terminal != "pts/3" || len(who.Parents) != 3 {
		t.Fatalf("%v, %v", who, no)
	}
	m.alive = func() bool { return false }
	if _, no := m.judge(900, "/srv/app"); no == nil || no.Reason != NoTerminal {
		t.Errorf("closed: %v", no)
	}
	gone := read(t, strings.Replace(tree, "600 500", "601 500", 1))
	if _, no := gone.judge(900, "/srv/app"); no == nil || no.Reason != Unseen {
		t.Errorf("the shell is gone: %v", no)
	}
}

// TestRecord: a record names user, terminal, process and parents.
func TestRecord(t *testing.T) {
	w := &Who{User: "ann", Terminal: "pts/3", Process: Process{812, "obstat"}, Parents: []Process{{640, "bash"}, {590, "sshd"}}}
	if got := fmt.Sprint(w); got != "ann at pts/3 (obstat 812, bash 640, sshd 590)" {
		t.Error(got)
	}
	w.Trust, w.Terminal = "/builds", ""
	if got := w.String(); !strings.HasPrefix(got, "ann below OBSTAT_TRUST=/builds (obstat 812") {
		t.Error(got)
	}
}

// TestAgentNames: agents are known by their processes, however they are installed, and
// programs and directories with similar names are not.
func TestAgentNames(t *testing.T) {
	for line, want := range map[string]bool{
		"codex":                                  true,
		"node /usr/bin/gemini":                   true,
		"node --no-warnings=DEP0040 /b/qwen.js":  true,
		"bun x/node_modules/opencode-ai/bin/run": true,
		"node /u/lib/node_modules/@anthropic-ai/claude-code/cli.js": true,
		"node /u/lib/node_modules/@github/copilot/npm-loader.js":    true,
		"/home/ann/.local/bin/claude --resume":                      true,
		"bash /home/ann/codex/run.sh":                               false,
		"node /home/ann/gemini/server.js":                           false,
		"vim claude":                                                false,
		"/usr/share/cursor/cursor":                                  false,
		"python3 notes.py gemini":                                   false,
	} {
		f := strings.Fields(line)
		if got := known().agent(&proc{name: filepath.Base(f[0]), exe: f[0], args: f}); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// TestStarted: a variable counts from the first process of a container, and not from one that an
// agent has started, with or without its mark.
func TestStarted(t *testing.T) {
	const value = "OBSTAT_TRUST=/"
	for name, tt := range map[string]struct {
		environs []string // of the parent, its parent, and so on up to the first process
		want     bool
	}{
		"the agent is first":         {[]string{value}, true},
		"a shell, the agent":         {[]string{"CLAUDECODE=1 " + value, value}, true},
		"the agent's settings":       {[]string{"CLAUDECODE=1 " + value, "HOME=/"}, false},
		"an agent without its mark":  {[]string{value, "CLAUDECODE=1", "HOME=/"}, false},
		"given above, and below":     {[]string{value, "CLAUDECODE=1 " + value, value, ""}, true},
		"the shell of a hook":        {[]string{"GEMINI_PROJECT_DIR=/ " + value, "HOME=/"}, false},
		"nobody":                     {[]string{"HOME=/", "OBSTAT_TRUST=/other"}, false},
		"above one that is not read": {[]string{"", value}, true},
	} {
		n := len(tt.environs)
		m := &machine{get: func(pid int) *proc {
			return &proc{pid: pid, parent: pid - 1, environ: strings.Fields(tt.environs[n-pid])}
		}}
		if own, known := m.started(n, "OBSTAT_TRUST", "/"); own != tt.want || !known {
			t.Errorf("%s: %v, %v", name, own, known)
		}
	}
	if _, known := (&machine{get: func(int) *proc { return nil }}).started(7, "OBSTAT_TRUST", "/"); known {
		t.Error("processes that cannot be read are known")
	}
}
