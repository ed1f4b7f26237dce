package effect

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	goflag "flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	labRoot     = goflag.String("lab", "", "run the lab on the `root` directory that lab/rootfs.sh made")
	labOnly     = goflag.String("lab.only", "", "only these `programs`, joined by commas")
	labMost     = goflag.Int("lab.most", 40, "at most `n` command lines of a program")
	labKeep     = goflag.Bool("lab.keep", false, "keep the observations in testdata/observed.jsonl.gz")
	labObserved = "testdata/observed.jsonl.gz"
)

// TestLab runs the programs of the knowledge base and holds what they did against the analysis.
func TestLab(t *testing.T) {
	if *labRoot == "" {
		t.Skip("no -lab: make test-effects runs it; TestObserved replays what it saw")
	}
	master := labFixture(t)
	jobs := make(chan []string)
	var mu sync.Mutex
	var all []*observed
	var wg sync.WaitGroup
	for range 2 {
		b := newBench(t, *labRoot, master)
		wg.Go(func() {
			for lines := range jobs {
				got := b.runAll(lines)
				mu.Lock()
				all = append(all, got...)
				mu.Unlock()
			}
		})
	}
	began, programs := time.Now(), 0
	for _, name := range labPrograms(t) {
		if lines := labLines(name, *labMost); len(lines) > 0 {
			programs++
			jobs <- lines
			if programs%25 == 0 {
				mu.Lock()
				fmt.Fprintf(os.Stderr, "lab: %d programs, %d command lines, %s\n", programs, len(all), time.Since(began).Round(time.Second))
				mu.Unlock()
			}
		}
	}
	if *labOnly == "" {
		for lines := range slices.Chunk(labCorpus(t), 50) {
			jobs <- lines
		}
	}
	close(jobs)
	wg.Wait()
	slices.SortFunc(all, func(a, b *observed) int { return strings.Compare(a.Cmd, b.Cmd) })
	judgeAll(t, all)
	if *labKeep {
		keepObserved(t, all)
	}
	t.Logf("%d programs, %d command lines", programs, len(all))
}

// TestObserved replays what the lab saw: nothing that a real program did may be missing in the
// analysis. It runs no program and needs none.
func TestObserved(t *testing.T) {
	all := readObserved(t)
	if len(all) < 1000 {
		t.Fatalf("only %d observations", len(all))
	}
	judgeAll(t, all)
}

func readObserved(t *testing.T) (all []*observed) {
	f, err := os.Open(labObserved)
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	for lines := bufio.NewScanner(z); lines.Scan(); {
		s := &observed{}
		must(t, json.Unmarshal(lines.Bytes(), s))
		all = append(all, s)
	}
	return all
}

// judgeAll fails for everything that was seen and not said, and logs how much was said and never
// seen, with the programs that this is most often so for: possible noise.
func judgeAll(t *testing.T, all []*observed) {
	noise, did, missed := map[string]int{}, 0, 0
	for _, s := range all {
		an := AnalyzeCommand(s.Cmd, labOptions())
		if !s.nothing() {
			did++
		}
		if missing := unsaid(s, an); len(missing) > 0 {
			missed++
			t.Errorf("%s\n\tseen but not said: %s (read-only %v)", s.Cmd, strings.Join(missing, ", "), an.ReadOnly)
		}
		if len(silent(s, an)) > 0 {
			program, _, _ := strings.Cut(s.Cmd, " ")
			noise[program]++
			noise[""]++
		}
	}
	t.Logf("%d command lines, %d did something, %d of them more than is said; %d were said to do more than was seen", len(all), did, missed, noise[""])
	delete(noise, "")
	names := slices.SortedFunc(maps.Keys(noise), func(a, b string) int { return noise[b] - noise[a] })
	for _, name := range names[:min(len(names), 20)] {
		t.Logf("said and not seen: %4d %s", noise[name], name)
	}
}

// runAll runs command lines of one program; one that does not end is not tried for ever.
func (b *labBench) runAll(lines []string) (out []*observed) {
	late := 0
	for _, cmd := range lines {
		s, tooLate := b.run(cmd)
		out = append(out, s)
		if tooLate {
			if late++; late == 4 {
				break
			}
		}
	}
	return out
}

// labPrograms returns the programs of the knowledge base that the root has.
func labPrograms(t *testing.T) (out []string) {
	only := strings.Split(*labOnly, ",")
	for _, name := range knownPrograms() {
		if *labOnly != "" && !slices.Contains(only, name) {
			continue
		}
		for _, dir := range []string{"usr/bin", "usr/sbin", "bin", "sbin", "usr/games"} {
			if _, err := os.Lstat(filepath.Join(*labRoot, dir, name)); err == nil {
				out = append(out, name)
				break
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("the root has none of the programs; make it with effect/lab/rootfs.sh")
	}
	return out
}

// labCorpus returns the commands of people that the corpora have.
func labCorpus(t *testing.T) []string {
	data, err := os.ReadFile("testdata/harmless.txt")
	must(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
}

// labFixture makes the home directory with the project that every command gets a copy of.
func labFixture(t *testing.T) string {
	home := filepath.Join(t.TempDir(), "home")
	for name, text := range map[string]string{
		"project/a.txt": "one\ntwo\nthree\n", "project/b.txt": "one\n2\nthree\n", "project/n.csv": "1,b\n2,a\n", "project/a.json": `{"a":[1]}`, "project/src/m.py": "print(1)\n",
		"project/src/x.sh": "echo hi\n", "project/Makefile": "all:\n\t./evil\n", "project/package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"./evil"}}`,
		"project/go.mod": "module x\n", "project/m.go": "package x\n", "project/README.md": "# x\n", "project/x.yml": "a: 1\n", "project/sub/deep.txt": "deep\n",
		"project/evil": "#!/bin/sh\ntouch /home/u/project/evil-ran\n", "project/.env": "SECRET=" + labKey + "\n", ".ssh/id_rsa": labKey + "\n", "other/file.txt": "other\n",
		".gitconfig": "[user]\n\tname = u\n\temail = u@example.com\n", ".netrc": "machine example.com password " + labKey + "\n",
	} {
		p := filepath.Join(home, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
		past := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(p, past, past))
	}
	project := filepath.Join(home, "project")
	must(t, os.Chmod(filepath.Join(project, "evil"), 0o755))
	must(t, os.Symlink("a.txt", filepath.Join(project, "link")))
	must(t, os.Symlink("../other", filepath.Join(project, "out-of-here")))
	for _, c := range []string{"touch -h -d yesterday link out-of-here", "git init -q -b main", "git add a.txt b.txt src sub README.md", "git -c user.name=a -c user.email=a@b commit -q -m one",
		"git tag v1", "tar cf t.tar a.txt b.txt", "tar czf t.tgz a.txt", "gzip -k n.csv", "git status -s"} {
		cmd := exec.Command("/bin/sh", "-c", c)
		cmd.Dir, cmd.Env = project, append(os.Environ(), "HOME="+home)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("the fixture: %s: %v: %s", c, err, out)
		}
	}
	return home
}

// keepObserved writes the observations down; those of programs that were left out stay.
func keepObserved(t *testing.T, all []*observed) {
	if *labOnly != "" {
		seen := map[string]bool{}
		for _, s := range all {
			seen[s.Cmd] = true
		}
		for _, s := range readObserved(t) {
			if !seen[s.Cmd] {
				all = append(all, s)
			}
		}
		slices.SortFunc(all, func(a, b *observed) int { return strings.Compare(a.Cmd, b.Cmd) })
	}
	f, err := os.Create(labObserved)
	must(t, err)
	z, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	for _, s := range all {
		must(t, enc.Encode(s))
	}
	must(t, z.Close())
	must(t, f.Close())
}
