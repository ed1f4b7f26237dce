package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/lint"
)

// rules returns how many places of a policy's files have a rule.
func rules(p *dialect.Loaded) int {
	at := map[obstat.Pos]bool{}
	for _, list := range p.Program.Rules {
		for i := range list {
			if slices.Contains(p.Input.Names(), list[i].Pos.File) {
				at[list[i].Pos] = true
			}
		}
	}
	return len(at)
}

// convert says every policy in obstat.yaml, and decides the calls that were written down with the result.
func (l *lab) convert() error {
	pols, err := l.loaded()
	if err != nil {
		return err
	}
	list, err := l.calls()
	if err != nil {
		return err
	}
	said, unsaid, looser, kept, allowed := 0, 0, 0, 0, 0
	why := map[string]int{}
	var times []float64
	for i, name := range slices.Sorted(maps.Keys(pols)) {
		p := pols[name]
		n := rules(p)
		if i%l.skip != 0 || p.Dialect.Name() == native.Name || n == 0 {
			continue
		}
		start := cpu()
		res, err := convert.ToNative(p, nil)
		took := cpu() - start
		times = append(times, took)
		if took > 2 {
			fmt.Printf("slow: %s, %d rules: %.1f s\n", name, n, took)
		}
		if err != nil {
			fmt.Printf("%s: %s\n", name, short(err.Error()))
			continue
		}
		said, unsaid = said+n-len(res.Unsaid), unsaid+len(res.Unsaid)
		for _, u := range res.Unsaid {
			why[short(u.Why)]++
			if l.verbose {
				fmt.Printf("no sentence: %s %s: %s\n", u.Verdict, short(u.Rule), short(u.Why))
			}
		}
		now, err := dialect.Load(native.Dialect{}, &dialect.Input{Home: world.HomeDir,
			Files: []dialect.File{{Name: filepath.Join(project, native.File), Data: []byte(res.Text)}}})
		if err != nil {
			fmt.Printf("%s: the result does not load: %s\n", name, short(err.Error()))
			continue
		}
		looser += res.Differences.Looser
		for i := range res.Differences.Regions {
			if r := &res.Differences.Regions[i]; r.Looser {
				fmt.Printf("LOOSER %s: %s → %s %s %s, %s\n", name, r.Was, r.Now, r.Call.Tool, short(string(r.Call.Input)), r.NowBy.Rule)
			}
		}
		a, k, x := l.against(name, list, p.Policy, now.Policy)
		allowed, kept, looser = allowed+a, kept+k, looser+x
	}
	mid, most := median(times)
	fmt.Printf("convert: %d rules with a sentence, %d without (%.1f %%); %d looser; %d of %d allowed calls still allowed (%.1f %%); %.2f s of CPU at the median, %.1f s at most\n",
		said, unsaid, 100*float64(unsaid)/float64(max(said+unsaid, 1)), looser, kept, allowed, 100*float64(kept)/float64(max(allowed, 1)), mid, most)
	for _, k := range slices.SortedFunc(maps.Keys(why), func(a, b string) int { return why[b] - why[a] }) {
		fmt.Printf("  %4d  %s\n", why[k], k)
	}
	return nil
}

// against decides the calls of a file by two policies: how many the first allows, how many of those the second
// allows, and how many the second decides more freely.
// Of a rule of the file, not of the agent's mode or default: a draft has defaults of its own.
func (l *lab) against(name string, list []meaning, was, now *obstat.Policy) (allowed, kept, looser int) {
	for i := range list {
		if list[i].File != name {
			continue
		}
		before, after := was.Decide(list[i].call(), world), now.Decide(list[i].call(), world)
		switch {
		case before.Verdict == obstat.Allow && after.Verdict == obstat.Allow:
			allowed, kept = allowed+1, kept+1
		case before.Verdict == obstat.Allow:
			if allowed++; l.verbose {
				fmt.Printf("no longer allowed: %s %v: %s\n", name, list[i].Input, after.Reason())
			}
		case after.Verdict > before.Verdict && list[i].Want != "allow": // else it is as its author meant it
			if before.Rule == nil || !before.Rule.Pos.IsValid() {
				fmt.Printf("freer than the default: %s %v: %s → %s\n", name, list[i].Input, before.Verdict, after.Verdict)
				continue
			}
			looser++
			fmt.Printf("LOOSER %s %s %v: %s → %s, %s\n", name, list[i].Rule, list[i].Input, before.Verdict, after.Verdict, after.Reason())
		}
	}
	return allowed, kept, looser
}

// lint counts what is said of each file, and prints it with -v for a judge.
func (l *lab) lint() error {
	pols, err := l.loaded()
	if err != nil {
		return err
	}
	var each []float64
	kinds := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(pols)) {
		p := pols[name]
		all := slices.Concat(p.Warnings, dialect.Lint(p), lint.Program(p.Program, &lint.Options{Files: p.Input.Names(),
			Sees: p.Dialect.Info().Sees, Now: time.Now()}))
		all = lint.Fold(all)
		if n := rules(p); n > 0 {
			each = append(each, 100*float64(len(all))/float64(max(n, 100)))
		}
		for _, e := range all {
			kinds[string(e.Code)]++
			if l.verbose {
				fmt.Printf("%s:%d  %s; %s\n", name, e.Pos.Line, short(e.Msg), short(e.Hint))
			}
		}
	}
	mid, most := median(each)
	fmt.Printf("lint: %v; %.1f lines for 100 rules at the median, %.1f at most\n", kinds, mid, most)
	return nil
}

// targets are the languages that policies are exported to.
var targets = []string{"claude-code", "codex", "cursor", "gemini", "opencode"}

// export converts every file and writes the result for each agent, with the obstat program, as a person would; every
// skip-th file is looked at. What is freer by the agent's own word is counted, and decided with Codex's own program
// where CODEX names it.
func (l *lab) export() error {
	program, codex := os.Getenv("OBSTAT"), os.Getenv("CODEX")
	if program == "" {
		return fmt.Errorf("OBSTAT is the obstat program to run")
	}
	pols, err := l.loaded()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "files-export-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	said, unsaid, freer, alone := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	tried := 0
	asked, differ := 0, 0
	var times []float64
	for i, name := range slices.Sorted(maps.Keys(pols)) {
		p := pols[name]
		if i%l.skip != 0 || p.Dialect.Name() == native.Name || rules(p) == 0 {
			continue
		}
		res, err := convert.ToNative(p, nil)
		if err != nil {
			return err
		}
		at := filepath.Join(dir, fmt.Sprint(i))
		file := filepath.Join(at, native.File)
		if err = os.MkdirAll(at, 0o755); err == nil {
			err = os.WriteFile(file, []byte(res.Text), 0o644)
		}
		if err != nil {
			return err
		}
		tried++
		for _, to := range targets {
			out, took, err := exported(program, dir, to, file)
			times = append(times, took)
			if err != nil {
				fmt.Printf("%s to %s: %s\n", name, to, short(err.Error()))
				continue
			}
			said[to], unsaid[to], freer[to] = said[to]+out.Said, unsaid[to]+len(out.Unsaid), freer[to]+len(out.Looser)
			alone[to] += len(out.Alone)
			if l.verbose {
				for _, r := range out.Alone {
					fmt.Printf("%s, %s alone: %s → %s %s %s\n", name, to, r.Was, r.Now, r.Call.Tool, short(string(r.Call.Input)))
				}
				for _, u := range out.Unsaid {
					fmt.Printf("%s, %s: no rule for %s: %s\n", name, to, short(u.Rule), short(u.Why))
				}
			}
			if to == "codex" && codex != "" && out.Said > 0 {
				n, x, err := askCodex(codex, at, out.Text)
				if err != nil {
					return err
				}
				asked, differ = asked+n, differ+x
			}
		}
	}
	mid, most := median(times)
	for _, to := range targets {
		fmt.Printf("export to %-12s %d policies: %d rules, %d sentences without one, %d regions freer, %d in the agent alone\n", to, tried,
			said[to], unsaid[to], freer[to], alone[to])
	}
	fmt.Printf("%.2f s of CPU at the median, %.1f s at most; by Codex's own program %d rules, %d decided otherwise\n", mid, most, asked, differ)
	return nil
}

// exported runs obstat policy export.
func exported(program, home, to, file string) (*convert.Exported, float64, error) {
	cmd := exec.Command(program, "policy", "export", "--to", to, "--json", file)
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(home, "home"), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	var out convert.Exported
	if err != nil || json.Unmarshal(data, &out) != nil {
		return nil, 0, fmt.Errorf("%v: %s%s", err, stderr.String(), told(data))
	}
	return &out, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// told returns the error that obstat printed as JSON, `{"error": {"msg": "..."}}`.
func told(data []byte) string {
	var out struct{ Error json.RawMessage }
	if json.Unmarshal(data, &out) != nil || out.Error == nil {
		return short(string(data))
	}
	return string(out.Error)
}

var prefixRule = regexp.MustCompile(`prefix_rule\(pattern=(\[.*?\]), decision="(\w+)"\)`)

// askCodex has Codex's own program decide the command of each rule of a file: how many, and how many otherwise than the
// strictest of the rules that are about it.
func askCodex(codex, dir, text string) (n, differ int, err error) {
	file := filepath.Join(dir, "export.rules")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return 0, 0, err
	}
	for _, m := range prefixRule.FindAllStringSubmatch(text, 40) {
		var words []string
		if err := json.Unmarshal([]byte(m[1]), &words); err != nil {
			return n, differ, err
		}
		cmd := exec.Command(codex, append([]string{"execpolicy", "check", "--rules", file, "--"}, words...)...)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		out, err := cmd.Output()
		var said struct{ Decision string }
		if err != nil || json.Unmarshal(out, &said) != nil {
			return n, differ, fmt.Errorf("%s: %v", short(string(out)), err)
		}
		if n++; strictness[said.Decision] > strictness[m[2]] {
			differ++
			fmt.Printf("codex: %q is %s, not %s\n", words, said.Decision, m[2])
		}
	}
	return n, differ, nil
}

// strictness orders Codex's decisions, the freest last.
var strictness = map[string]int{"forbidden": 0, "prompt": 1, "allow": 2}

// drafts puts each file into a project of its own and runs obstat init there, as a person would.
func (l *lab) drafts() error {
	program := os.Getenv("OBSTAT")
	if program == "" {
		return fmt.Errorf("OBSTAT is the obstat program to run")
	}
	return l.runInit(program, strings.TrimSuffix(project, "/"))
}
