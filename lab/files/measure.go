package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

var world = &obstat.Snapshot{HomeDir: "/srv/lab/home", Dirs: []string{project, "/srv/lab/home"}}

// load reads a file as obstat does where it stands in a project.
func load(e *entry, data []byte) (*dialect.Loaded, error) {
	name := filepath.Join(project, filepath.FromSlash(e.path))
	files := []dialect.File{{Name: name, Data: data}}
	d, err := all.Of("", files)
	if err != nil {
		return nil, err
	}
	return dialect.Load(d, &dialect.Input{Files: files, Home: world.HomeDir})
}

// loaded loads all files, and says which do not.
func (l *lab) loaded() (map[string]*dialect.Loaded, error) {
	out := map[string]*dialect.Loaded{}
	list := l.entries()
	bad := 0
	for i := range list {
		e := &list[i]
		data, err := os.ReadFile(e.in(l.cache))
		if err != nil {
			return nil, err
		}
		p, err := load(e, data)
		if err != nil {
			bad++
			fmt.Printf("does not load: %s/%s: %.200s\n", e.repo, e.path, err)
			continue
		}
		out[e.repo+"/"+e.path] = p
	}
	fmt.Printf("%d of %d files load (%.1f %%)\n", len(list)-bad, len(list), 100*float64(len(list)-bad)/float64(len(list)))
	return out, nil
}

func (l *lab) calls() (out []meaning, err error) {
	f, err := os.Open(filepath.Join(l.cache, "calls.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var m meaning
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, sc.Err()
}

func (m *meaning) call() *obstat.Call {
	input, _ := json.Marshal(m.Input)
	return &obstat.Call{Tool: m.Tool, Input: input, Dir: project, Roots: []string{project}}
}

// check decides the calls that were written down, and counts.
func (l *lab) check() error {
	pols, err := l.loaded()
	if err != nil {
		return err
	}
	list, err := l.calls()
	if err != nil {
		return err
	}
	got, why := map[string]map[string]int{}, map[string]int{}
	for i := range list {
		m := &list[i]
		p := pols[m.File]
		if p == nil {
			continue
		}
		d := p.Policy.Decide(m.call(), world)
		key := m.Want
		if m.How != "" {
			key += " in disguise"
		}
		if got[key] == nil {
			got[key] = map[string]int{}
		}
		got[key][d.Verdict.String()]++
		if d.Verdict.String() == m.Want || m.Want == "ask" && d.Verdict == obstat.Deny {
			continue
		}
		if m.Want == "deny" && d.Verdict == obstat.Ask && m.How != "" {
			continue
		}
		why[key+" → "+d.Verdict.String()+": "+p.Dialect.Name()]++
		if l.verbose {
			fmt.Printf("%s → %s  %s  %s  %v  [%s] %s\n", key, d.Verdict, m.File, m.Rule, m.Input, m.How, d.Reason())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		n := got[key]
		total := n["allow"] + n["ask"] + n["deny"]
		fmt.Printf("%-18s %5d calls: allow %d (%.1f %%), ask %d, deny %d\n", key, total, n["allow"],
			100*float64(n["allow"])/float64(total), n["ask"], n["deny"])
	}
	for _, k := range slices.Sorted(maps.Keys(why)) {
		fmt.Printf("  %s: %d\n", k, why[k])
	}
	return nil
}

// median returns the middle of a list, and its largest.
func median(list []float64) (float64, float64) {
	if len(list) == 0 {
		return 0, 0
	}
	sort.Float64s(list)
	return list[len(list)/2], list[len(list)-1]
}

// cpu returns the seconds that this process has computed: the machine may be busy with others.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func short(s string) string {
	return strings.TrimSpace(fmt.Sprintf("%.160s", strings.ReplaceAll(s, "\n", " ")))
}
