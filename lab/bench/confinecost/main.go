// Command confinecost measures what a confined run costs: its start, beside bubblewrap and other sandboxes, and the
// processor time of ordinary work inside one, all in turns in one run.
//
//	go run ./confinecost [-n 60] [-work 5] [-npm DIR]
//
// With -npm, the sandboxes of Codex and of @anthropic-ai/sandbox-runtime are installed there from npm and measured,
// too.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/confine"
)

func main() {
	confine.Main()
	n := flag.Int("n", 60, "how often each is started")
	work := flag.Int("work", 5, "how often each piece of work is done")
	npm := flag.String("npm", "", "`directory` that other sandboxes are installed in")
	flag.Parse()
	if err := run(*n, *work, *npm); err != nil {
		fmt.Fprintln(os.Stderr, "confinecost:", err)
		os.Exit(1)
	}
}

// A way is one way to run something.
type way struct {
	name string
	do   func() (time.Duration, error)
	took []time.Duration
}

func run(n, work int, npm string) error {
	b := new(bench)
	if err := b.setUp(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	starts := b.starts(npm)
	if err := turns(starts, n); err != nil {
		return err
	}
	fmt.Printf("| start of `true` | least of %d | median | × bubblewrap |\n|---|---|---|---|\n", n)
	base := time.Duration(0)
	for _, w := range starts {
		if w.name == "bubblewrap" {
			base = slices.Min(w.took)
		}
	}
	for _, w := range starts {
		ratio := "–"
		if base > 0 {
			ratio = fmt.Sprintf("%.1f", float64(slices.Min(w.took))/float64(base))
		}
		fmt.Printf("| %s | %s | %s | %s |\n", w.name, ms(slices.Min(w.took)), ms(median(w.took)), ratio)
	}
	fmt.Printf("\n| work, processor time | bare | confined | of that, the start | more, without the start |\n|---|---|---|---|---|\n")
	for _, job := range b.jobs() {
		three := []*way{{name: "bare", do: b.cpu("bash", "-c", job.text)},
			{name: "confined", do: b.cpu(b.obstat, "run", "-c", job.text)}, {name: "start", do: b.cpu(b.obstat, "run", "-c", ":")}}
		if err := turns(three, work); err != nil {
			return err
		}
		bare, confined, start := slices.Min(three[0].took), slices.Min(three[1].took), slices.Min(three[2].took)
		more := 100 * float64(confined-start-bare) / float64(bare)
		fmt.Printf("| %s | %s | %s | %s | %+.1f %% |\n", job.name, ms(bare), ms(confined), ms(start), more)
	}
	return b.large(n)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func median(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// turns does each thing n times, one after the other. The first time fills caches and does not count.
func turns(ways []*way, n int) error {
	for i := range n + 1 {
		for _, w := range ways {
			took, err := w.do()
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if i > 0 {
				w.took = append(w.took, took)
			}
		}
	}
	return nil
}

// A bench is a home with a project and a policy. It lies in no temporary directory, which policies speak of.
type bench struct{ dir, project, obstat string }

const policy = "version: 1\nconfine: code\nallow: [read workspace, write workspace, delete workspace, write temp, connect localhost]\n" +
	"ask: [read secrets]\n"

func (b *bench) setUp() error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(cache, "confinecost-"); err != nil {
		return err
	}
	b.project, b.obstat = filepath.Join(b.dir, "home", "project"), filepath.Join(b.dir, "obstat")
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/obstat/obstat").Output()
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", b.obstat, "./cmd/obstat")
	build.Dir, build.Env = strings.TrimSpace(string(root)), append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	for name, text := range map[string]string{
		"../.config/obstat/obstat.yaml": policy, "main.go": "package main\n\nimport \"net/http\"\n\nfunc main() { http.ListenAndServe(\"\", nil) }\n",
		"go.mod": "module x\n\ngo 1.21\n", ".env": "S=1\n", ".gitignore": ".env\nx\n",
		"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"node --test"}}`,
		"x.test.js":    "const t = require('node:test');\nfor (let i = 0; i < 100; i++) t('t' + i, () => {});\n"} {
		at := filepath.Join(b.project, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(b.project, fmt.Sprintf("f%d.txt", i)), []byte("x"), 0o644); err != nil {
			return err
		}
	}
	_, err = b.cpu("sh", "-c", "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm one")()
	return err
}

func (b *bench) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = b.project
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(b.dir, "home"), "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "PWD="+b.project)
	return cmd
}

// cpu runs a program and returns its processor time, with that of all processes below it.
func (b *bench) cpu(name string, args ...string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		cmd := b.command(name, args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%w\n%s", err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	}
}

// clock runs a program and returns the time by the clock.
func (b *bench) clock(name string, args ...string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		began := time.Now()
		out, err := b.command(name, args...).CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("%w\n%s", err, out)
		}
		return time.Since(began), nil
	}
}

// starts are the ways to start a program that does nothing.
func (b *bench) starts(npm string) []*way {
	out := []*way{{name: "plain", do: b.clock("/bin/true")}}
	if bwrap, err := exec.LookPath("bwrap"); err == nil {
		args := []string{"--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run",
			"--bind", b.project, b.project, "--chdir", b.project}
		for _, dir := range []string{"/usr", "/etc", "/bin", "/lib", "/lib64"} {
			if target, err := os.Readlink(dir); err == nil {
				args = append(args, "--symlink", target, dir)
			} else if _, err := os.Stat(dir); err == nil {
				args = append(args, "--ro-bind", dir, dir)
			}
		}
		out = append(out, &way{name: "bubblewrap", do: b.clock(bwrap, append(args, "/bin/true")...)})
	} else {
		fmt.Fprintln(os.Stderr, "bubblewrap is not installed")
	}
	through := confine.Profile{Read: append(confine.SystemTrees(), b.project), Execute: confine.SystemTrees(),
		Hidden: []string{b.project + "/.env"}, ReadOnly: []string{b.project + "/.git/config"},
		Workspace: confine.Workspace{Root: b.project, Mode: confine.Through}}
	overlay := through
	overlay.Workspace = confine.Workspace{Root: b.project, Mode: confine.Overlay, State: b.dir + "/state"}
	out = append(out, &way{name: "package confine, written through", do: confined(through)},
		&way{name: "package confine, in a layer", do: confined(overlay)},
		&way{name: "`obstat run`, policy and judging included", do: b.clock(b.obstat, "run", "-c", "/bin/true")})
	if npm != "" {
		out = append(out, b.others(npm)...)
	}
	return out
}

func confined(p confine.Profile) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		began := time.Now()
		_, err := confine.Run(context.Background(), p, confine.Command{Args: []string{"/bin/true"}})
		return time.Since(began), err
	}
}

// others installs and returns other sandboxes that start here; one that does not is told.
func (b *bench) others(npm string) (out []*way) {
	install := exec.Command("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", npm, "@anthropic-ai/sandbox-runtime",
		"@openai/codex")
	if text, err := install.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "npm: %v\n%s", err, text)
	}
	for name, args := range map[string][]string{"sandbox-runtime": {"srt", "/bin/true"},
		"codex's sandbox": {"codex", "sandbox", "--", "/bin/true"}} {
		do := b.clock(filepath.Join(npm, "node_modules/.bin", args[0]), args[1:]...)
		if _, err := do(); err != nil {
			fmt.Fprintf(os.Stderr, "%s does not start here: %v\n", name, err)
			continue
		}
		out = append(out, &way{name: name, do: do})
	}
	return out
}

// A job is work that is done bare and confined.
type job struct{ name, text string }

func (b *bench) jobs() []job {
	out := []job{{"200 × `git status`", "for i in $(seq 200); do git status --short >/dev/null; done"}}
	if _, err := exec.LookPath("go"); err == nil {
		out = append(out, job{"`go build`, 3 times", "for i in 1 2 3; do echo // >> main.go; go build -o x .; done"})
	}
	if _, err := exec.LookPath("npm"); err == nil {
		out = append(out, job{"`npm test`, 5 times", "for i in 1 2 3 4 5; do npm test --silent >/dev/null; done"})
	}
	return out
}

// large tells the limits of a workspace of 50,000 files that was looked at before.
func (b *bench) large(n int) error {
	for i := range 50_000 {
		at := filepath.Join(b.project, "many", fmt.Sprint(i/100), fmt.Sprint(i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			return err
		}
	}
	time.Sleep(1500 * time.Millisecond) // a directory that was just changed is looked at again
	small := filepath.Join(b.project, "..", "small")
	if err := os.MkdirAll(small, 0o755); err != nil {
		return err
	}
	pair := []*way{{name: "small", do: b.clock(b.obstat, "run", "--explain", "-C", small, "-c", "make")},
		{name: "large", do: b.clock(b.obstat, "run", "--explain", "-c", "make")}}
	if err := turns(pair, n); err != nil {
		return err
	}
	a, z := slices.Min(pair[0].took), slices.Min(pair[1].took)
	fmt.Printf("\n50,000 files that were looked at before: %s more than none (%s, %s)\n", ms(z-a), ms(z), ms(a))
	return nil
}
