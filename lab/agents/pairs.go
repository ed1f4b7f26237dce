package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// pairSeed is the seed by which the cells of the kept table were chosen.
const pairSeed = 30

// base is where runs get their directories. Agents' sandboxes let commands write below /tmp, which would make
// nothing outside of a project there.
func (o *options) base() string {
	if o.pairs || o.exports {
		return "/var/tmp"
	}
	return ""
}

// A Pair is a cell with both of its runs.
type Pair struct {
	Cell
	Version       string // of the agent
	Without, With *Half
	Problem       string `json:",omitempty"` // why a run could not be had
}

// A halfRun is one half, kept so that it need not be run again.
type halfRun struct {
	Cell    Cell
	Obstat  string // the digest of obstat's program; "" without it
	Half    *Half
	Problem string
}

// A shelf keeps halves in a file, a line each, as they come: a lab that is ended goes on from there.
type shelf struct {
	name string
	mu   sync.Mutex
	have map[Cell]halfRun // of obstat as it is, and of none
}

// shelf returns the kept halves of an agent at its version.
func (o *options) shelf(a *Agent, digest string) *shelf {
	s := &shelf{name: filepath.Join(o.cache, fmt.Sprintf("pairs-%s-%s.jsonl", a.Name, a.Version)),
		have: map[Cell]halfRun{}}
	recorded, _ := ReadPairs(o.pairsName(a.Name)) // none yet
	for _, p := range recorded {
		if p.Version == a.Version && p.Without != nil {
			s.have[p.alone()] = halfRun{Cell: p.alone(), Half: p.Without}
		}
	}
	f, err := os.Open(s.name)
	if err != nil {
		return s
	}
	defer f.Close()
	eachLine(f, func(line string) {
		var h halfRun
		if json.Unmarshal([]byte(line), &h) == nil && h.Problem == "" && (h.Obstat == "" || h.Obstat == digest) {
			s.have[h.Cell] = h
		}
	})
	return s
}

func (s *shelf) get(c Cell) (halfRun, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.have[c]
	return h, ok
}

// keep has a half count without writing it to the file.
func (s *shelf) keep(h halfRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have[h.Cell] = h
}

func (s *shelf) put(h halfRun) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have[h.Cell] = h
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

// digest returns a digest of obstat's program.
func (o *options) digest() (string, error) {
	f, err := os.Open(filepath.Join(o.tools, "obstat"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}

// playPairs runs the cells of the chosen agents, both halves of each, and looks for calls that ran only with
// obstat.
func (o *options) playPairs(agents []Agent, newRun func(*Agent, int) *run) error {
	digest, err := o.digest()
	if err != nil {
		return err
	}
	programs, err := o.dialectPrograms()
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "seed %d, obstat %s\n", o.seed, digest)
	begin, looser := time.Now(), 0
	for _, f := range fieldsOf() {
		i := slices.IndexFunc(agents, func(a Agent) bool { return a.Name == f.agent })
		if i < 0 {
			continue
		}
		p := &pairing{options: o, field: &f, agent: &agents[i], shelf: o.shelf(&agents[i], digest), digest: digest,
			run: func(n int) *run {
				r := newRun(&agents[i], n)
				r.dir, r.programs = filepath.Join(filepath.Dir(r.dir), f.agent, fmt.Sprint(n)), programs
				return r
			}}
		pairs, err := p.play(f.choose(o.seed))
		if err != nil || o.without {
			if err != nil {
				return err
			}
			continue
		}
		for j := range pairs {
			if v := pairs[j].Judge(); v == Looser || v == Broken {
				looser++
				fmt.Fprintf(o.out, "%s: %s\n", strings.ToUpper(v.String()), pairs[j].tell())
			}
		}
		if o.update {
			if err := writeGzip(o.pairsName(f.agent), pairs...); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(o.out, "pairs played in %s, %d of them looser or broken\n", time.Since(begin).Round(time.Second), looser)
	if o.update {
		if err := errors.Join(writeGzip(programsFile(o.root), programs), o.writePairPage()); err != nil {
			return err
		}
	}
	if looser > 0 {
		return fmt.Errorf("%d pairs are looser with obstat, or were not driven", looser)
	}
	return nil
}

// A pairing is the pairs of one agent at work.
type pairing struct {
	*options
	field  *field
	agent  *Agent
	shelf  *shelf
	digest string
	run    func(n int) *run

	mu   sync.Mutex
	done int
	todo int
	n    int
}

// play runs the halves that are not kept yet: first all halves without obstat, which do not change with its code.
func (p *pairing) play(cells []Cell) ([]Pair, error) {
	var jobs []halfRun
	seen := map[Cell]bool{}
	add := func(c Cell, digest string) {
		if _, have := p.shelf.get(c); !have && !seen[c] {
			seen[c] = true
			jobs = append(jobs, halfRun{Cell: c, Obstat: digest})
		}
	}
	for _, c := range cells {
		add(c.alone(), "")
	}
	if p.changed {
		p.keepSame()
	}
	if !p.without {
		for _, c := range cells {
			add(c, p.digest)
		}
	}
	p.todo = len(jobs)
	fmt.Fprintf(p.out, "%s %s: %d cells, %d runs to do\n", p.agent.Title, p.agent.Version, len(cells), len(jobs))
	if err := p.work(jobs); err != nil {
		return nil, err
	}
	var out []Pair
	for _, c := range cells {
		without, _ := p.shelf.get(c.alone())
		with, _ := p.shelf.get(c)
		out = append(out, Pair{c, p.version(p.agent), without.Half, with.Half, without.Problem + with.Problem})
	}
	return out, nil
}

// work runs halves, a few at once, and puts each on the shelf as it ends.
func (p *pairing) work(jobs []halfRun) error {
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	errs := make([]error, len(jobs))
	for i, job := range jobs {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = p.one(job)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// one runs a half, and tells of it.
func (p *pairing) one(job halfRun) error {
	p.mu.Lock()
	p.n++
	r := p.run(p.n)
	p.mu.Unlock()
	begin := time.Now()
	half, err := p.field.play(&job.Cell, *p.agent, r, job.Obstat != "")
	if job.Half = half; err != nil {
		job.Problem = r.clean(err.Error())
	}
	word := job.word()
	keep := p.keep || err != nil || word == "not begun"
	if !keep {
		_ = r.tidy()
	}
	p.mu.Lock()
	p.done++
	which := "without"
	if job.Obstat != "" {
		which = "with   "
	}
	fmt.Fprintf(p.out, "%3d/%d %s %-12s %4.1fs %s\n", p.done, p.todo, which, word, time.Since(begin).Seconds(),
		job.Cell.String())
	if keep {
		fmt.Fprintf(p.out, "        %s\n        in %s\n", job.Problem, r.dir)
	}
	p.mu.Unlock()
	return p.shelf.put(job)
}

func (h *halfRun) word() string {
	switch {
	case h.Problem != "" || h.Half == nil:
		return "broken"
	case h.Half.Ran:
		return "ran"
	case !h.Half.Began:
		return "not begun"
	case h.Cell.wouldAsk(h.Half):
		return "would ask"
	}
	return "refused"
}

// notations are policies that allow everything, in the notation of the agent, or, for one whose notation
// obstat does not read, in Claude Code's.
var notations = map[string][3]string{
	"claude-code": {"claudecode", "settings.json",
		`{"permissions": {"allow": ["Bash", "Edit", "Write", "Read", "mcp__canary"]}}`},
	"copilot": {"claudecode", "settings.json",
		`{"permissions": {"allow": ["Bash", "Edit", "Write", "Read", "mcp__canary"]}}`},
	"codex":    {"codex", "default.rules", `prefix_rule(pattern=[["touch", "cat"]], decision="allow")` + "\n"},
	"gemini":   {"gemini", "own.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 500\n"},
	"opencode": {"opencode", "opencode.json", `{"permission": {"*": "allow", "external_directory": "allow"}}`},
}

// dialectPrograms has obstat turn the notations into Programs, by agent.
func (o *options) dialectPrograms() (map[string]string, error) {
	out := map[string]string{}
	for name, n := range notations {
		text, err := o.programOf(n[0], n[1], n[2])
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}

// tell describes a pair on the screen.
func (p *Pair) tell() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s", p.Cell.String())
	if p.Problem != "" {
		fmt.Fprintf(&b, "\n        %s", p.Problem)
	}
	for _, h := range []*Half{p.Without, p.With} {
		if h != nil {
			fmt.Fprintf(&b, "\n        ran %v, begun %v, would ask %v: %s", h.Ran, h.Began, p.wouldAsk(h), h.Words)
		}
	}
	return b.String()
}
