package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	l := &lab{}
	flag.StringVar(&l.obstat, "obstat", "", "the binary; built where it is missing")
	flag.StringVar(&l.tools, "tools", "", "directory of pnpm, uv, poetry and other tools that are no part of the system")
	flag.StringVar(&l.dir, "dir", "", "where the projects are made (default: in the user's cache)")
	flag.StringVar(&l.only, "only", "", "projects, with commas between them")
	flag.BoolVar(&l.verbose, "v", false, "print the output of commands that differ")
	flag.Parse()
	rows, err := l.run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !report(os.Stdout, rows) {
		os.Exit(1)
	}
}

// A lab is a place with two homes, one for bare commands and one for confined ones.
type lab struct {
	obstat, tools, dir, only string
	verbose                  bool
}

// A row is how one command ended both ways.
type row struct {
	project, command string
	bare, confined   result
	way              string // as the policy has it: "confined", "allow" (unconfined), "ask" or "deny"
	missing          string // the program that is not installed
}

type result struct {
	exit  int
	check string // output of the check that follows
	out   string
	took  time.Duration
}

// works tells whether a command that works bare works confined as well.
func (r *row) works() bool {
	return r.missing == "" && r.confined.exit == r.bare.exit && r.confined.check == r.bare.check
}

// counts tells whether a command works bare and the policy lets it run confined, so that it has to work so.
func (r *row) counts() bool { return r.missing == "" && r.bare.exit == 0 && r.way == "confined" }

func (l *lab) run(ctx context.Context) ([]row, error) {
	if err := l.prepare(); err != nil {
		return nil, err
	}
	projects, err := parse(commandsText)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, p := range projects {
		if l.only != "" && !slices.Contains(strings.Split(l.only, ","), p.name) {
			continue
		}
		rows = append(rows, l.project(ctx, &p)...)
	}
	return rows, nil
}

// prepare builds obstat and makes the two homes.
func (l *lab) prepare() error {
	if l.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		l.dir = filepath.Join(cache, "obstat-ordinary")
	}
	l.dir, _ = filepath.Abs(l.dir)
	for _, side := range sides {
		if err := l.home(side); err != nil {
			return err
		}
	}
	if l.obstat != "" {
		return nil
	}
	l.obstat = filepath.Join(l.dir, "obstat")
	build := exec.Command("go", "build", "-o", l.obstat, "./cmd/obstat")
	build.Dir = "../.."
	build.Stderr = os.Stderr
	return build.Run()
}

var sides = []string{"bare", "confined"}

// settings are the user's files that say which registries are used.
var settings = []string{".npmrc", ".config/go/env", ".config/pip/pip.conf", ".cargo/config.toml"}

// home makes a home with a policy and the user's own settings of package managers.
func (l *lab) home(side string) error {
	home := filepath.Join(l.dir, side)
	if err := os.RemoveAll(home); err != nil {
		return err
	}
	policy, err := os.ReadFile("../../dialect/native/presets/balanced.yaml")
	if err != nil {
		return err
	}
	files := map[string]string{".gitconfig": "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n" +
		"[protocol \"file\"]\n\tallow = always\n", ".config/obstat/obstat.yaml": confining(string(policy))}
	own, _ := os.UserHomeDir()
	for _, name := range settings {
		if text, err := os.ReadFile(filepath.Join(own, name)); err == nil {
			files[name] = string(text)
		}
	}
	for name, text := range files {
		at := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// confining switches confined runs and registries on, where the preset leaves that to a person.
func confining(policy string) string {
	if !strings.Contains("\n"+policy, "\nconfine:") {
		policy = strings.Replace(policy, "version: 1\n", "version: 1\nconfine: code\n", 1)
	}
	if !strings.Contains(policy, "registries") {
		policy = strings.Replace(policy, "connect localhost", "connect localhost, registries", 1)
	}
	return policy
}

func (l *lab) environ(side string) []string {
	own, _ := os.UserHomeDir()
	path := os.Getenv("PATH")
	if l.tools != "" {
		path = filepath.Join(l.tools, "node_modules/.bin") + ":" + filepath.Join(l.tools, "venv/bin") + ":" + path
	}
	env := []string{"HOME=" + filepath.Join(l.dir, side), "PATH=" + path, "LANG=C.UTF-8", "TERM=dumb", "CI=1",
		"RUSTUP_HOME=" + filepath.Join(own, ".rustup"), "GIT_PAGER=cat", "npm_config_update_notifier=false",
		"NO_UPDATE_NOTIFIER=1", "GOFLAGS=-buildvcs=false"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "SSL_CERT") || strings.HasSuffix(name, "_CA_CERTS") || strings.HasSuffix(name, "_PROXY") ||
			strings.HasPrefix(name, "PYENV_") || strings.HasPrefix(name, "PIP_") || name == "REQUESTS_CA_BUNDLE" {
			env = append(env, v)
		}
	}
	return env
}

// project makes a project in both homes and runs its commands one after the other, bare and confined in turns.
func (l *lab) project(ctx context.Context, p *project) (rows []row) {
	for _, side := range sides {
		dir := filepath.Join(l.dir, side, p.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			panic(err) // a home that was made a moment ago
		}
		if r := l.shell(ctx, side, dir, p.setup, false); r.exit != 0 {
			fmt.Fprintf(os.Stderr, "%s: the project was not made:\n%s", p.name, r.out)
			return nil
		}
	}
	for _, c := range p.commands {
		rw := row{project: p.name, command: c.text}
		for _, program := range append(strings.Fields(p.needs), strings.Fields(c.needs)...) {
			if !l.has(program) {
				rw.missing = program
			}
		}
		if rw.missing == "" {
			rw.way = l.way(ctx, filepath.Join(l.dir, "confined", p.name, c.dir), c.text)
			rw.bare, rw.confined = l.one(ctx, "bare", p, &c, ""), l.one(ctx, "confined", p, &c, rw.way)
			if l.verbose && !rw.works() {
				fmt.Printf("--- %s: %s\nbare %d %q\n%s\nconfined %d %q\n%s\n", p.name, c.text, rw.bare.exit, rw.bare.check, rw.bare.out,
					rw.confined.exit, rw.confined.check, rw.confined.out)
			}
		}
		rows = append(rows, rw)
	}
	return rows
}

func (l *lab) has(program string) bool {
	for _, dir := range []string{"node_modules/.bin", "venv/bin"} {
		if _, err := os.Stat(filepath.Join(l.tools, dir, program)); l.tools != "" && err == nil {
			return true
		}
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// way asks how the policy lets an agent's command run.
func (l *lab) way(ctx context.Context, dir, text string) string {
	cmd := exec.CommandContext(ctx, l.obstat, "check", "--json", "Bash", "--command", text)
	cmd.Dir, cmd.Env = dir, append(l.environ("confined"), "PWD="+dir)
	out, _ := cmd.Output() // the exit code is the verdict
	var answer struct {
		Verdict  string          `json:"verdict"`
		Confined json.RawMessage `json:"confined"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "error"
	}
	if len(answer.Confined) > 0 {
		return "confined"
	}
	return answer.Verdict
}

// one runs a command. One that asks runs unconfined here, as it does when a person has approved it.
func (l *lab) one(ctx context.Context, side string, p *project, c *command, way string) result {
	dir := filepath.Join(l.dir, side, p.name, c.dir)
	r := l.shell(ctx, side, dir, c.text, way == "confined")
	if c.check != "" {
		check := l.shell(ctx, side, dir, c.check, false)
		r.check = strings.ReplaceAll(check.out, filepath.Join(l.dir, side), "HOME")
	}
	l.stop(ctx, side)
	return r
}

// patience is how long one command may take.
const patience = 5 * time.Minute

func (l *lab) shell(ctx context.Context, side, dir, text string, confined bool) result {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args := []string{"bash", "-c", text}
	if confined {
		args = []string{l.obstat, "run", "-c", text}
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(l.environ(side), "PWD="+dir), &out, &out
	cmd.WaitDelay = 5 * time.Second
	began := time.Now()
	err := cmd.Run()
	r := result{out: out.String(), took: time.Since(began)}
	if cmd.ProcessState != nil {
		r.exit = cmd.ProcessState.ExitCode()
	}
	if err != nil && r.exit == 0 && !strings.Contains(err.Error(), "WaitDelay") {
		r.exit, r.out = -1, r.out+err.Error()
	}
	return r
}

// stop ends what a command has left in the background, on both sides.
func (l *lab) stop(ctx context.Context, side string) {
	if side == "confined" {
		cmd := exec.CommandContext(ctx, l.obstat, "run", "--stop")
		cmd.Env = l.environ(side)
		_ = cmd.Run() // nothing is left
		return
	}
	l.shell(ctx, side, l.dir, "for f in $HOME/*/*.pid; do kill $(cat $f) 2>/dev/null; rm -f $f; done; true", false)
}
