package undo

import (
	"bufio"
	stdcmp "cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/internal/keep/statedir"
)

func TestMain(m *testing.M) {
	confine.Main()
	if id := os.Getenv("OBSTAT_UNDO_ID"); id != "" {
		takesBack(os.Getenv("OBSTAT_UNDO_STATE"), id)
		return
	}
	if code, ok := elsewhere(); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// undoProcess is this program as one that takes a change back.
func undoProcess(state, id string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OBSTAT_UNDO_ID="+id, "OBSTAT_UNDO_STATE="+state, "GOMAXPROCS=1")
	return cmd
}

func takesBack(state, id string) {
	s, err := changes.Open(statedir.Changes(state), changes.Limits{})
	if err != nil {
		panic(err)
	}
	c, err := s.Get(id)
	if err != nil {
		panic(err)
	}
	if p, err := s.Plan([]*changes.Change{c}); err != nil {
		panic(err)
	} else if _, err := p.Apply(changes.Of{}); err != nil {
		panic(err)
	}
}

var (
	variations = flag.Int("variations", 30, "how many generated commands are run and taken back")
	cases      = flag.String("cases", "", "files of recorded calls, whose commands are run and taken back as well")
	skip       = flag.Int("skip", 0, "how many of these commands are left out")
	most       = flag.Int("most", 1<<20, "how many of these commands are run")
	seed       = flag.Uint64("seed", 1, "of the generated commands")
)

// grammar has the texts that commands are made of: `%f` is a file, and so on.
var grammar = map[byte][]string{
	'c': {"rm %f", "rm -f %f %n", "rm -rf %p %p", "rm -r %d/*", "rmdir %d", "unlink %f", "shred -u %f", "mv %f %n", "mv %p %n", "mv %p %d/",
		"mv -f %f %f", "mv %f %f %d", "cp %f %n", "cp %f %f", "cp -r %d %n", "cp -a %d %d", "cp -r %d/. %n", "cp --parents %f %d", "echo x > %f",
		"echo x >> %f", "echo x > %n", ": > %f", "echo x >| %f", "cat a > %n", "chmod %m %p", "chmod -R %m %d", "ln -s %f %n", "ln -sfn %d %n",
		"ln -sf %f %f", "ln %f %n", "touch %f %n", "touch -d 2001-01-01 %f", "mkdir %n", "mkdir -p %n/x/y", "mkdir -m 700 %n", "sed -i s/./Z/ %f",
		"sed -i.bak s/./Z/ %f %f", "tee %f %n < a", "tee -a %n < a", "truncate -s 0 %f", "truncate -s 100 %n", "install -m 755 a %n",
		"install -d %n/q", "dd if=a of=%f", "dd if=a of=%n bs=1", "find %d -name '%g' -delete", "find %d -type f -exec rm {} +",
		"find . -maxdepth 1 -type f -name '%g' -exec chmod 600 {} \\;", "cd %d && rm -f *", "cd %d; echo x > y", "(cd %d && mv * ..)",
		"for f in %f %f; do rm -f $f; done", "if true; then rm %f; else rm %f; fi", "tar cf %n %d", "tar xf pack.tar", "tar xf pack.tar -C %d",
		"sort -o %f %f", "split -b 1 a %n", "rsync -a %d/ %n", "gzip %f", "gzip -k %f", "patch %f < p.diff", "cat > %n <<'X'\ntext\nX",
		"printf y | tee %n", "true && rm %f || rm %f", "{ rm %f; }", "mkdir -p %n && cp %f $_", "ln -s nowhere %n", "csplit a 1",
		"git add %f", "git add -A", "git rm -rf --cached %d", "git rm -f %f", "git mv %f %n", "git stash", "git stash pop", "git stash drop", "git checkout -- %f",
		"git checkout -f other", "git restore %f", "git restore --staged .", "git reset --hard", "git reset --hard HEAD", "git reset -q", "git clean -fd", "git clean -fdx %d",
		"git commit -qam x", "git branch -D third", "git branch -m main2", "git tag -d v1", "git switch -f other", "git update-ref -d refs/tags/v1",
		"git config a.b c", "git commit -q --allow-empty -m x", "git merge -q other", "git cherry-pick other", "git rebase -q other"},
	'f': {"a", "b", "src/m.go", "src/deep/d", "l", "untracked", "build/out", "x.log", "t.o", "'with blank'", "$'n\\nl'", "hard", "mode", ".hidden", "./a", "src/../b", `"a"`},
	'd': {"src", "src/deep", "empty", "build", "ld", "src/", "./src"},
	'n': {"new", "src/new", "new/deep/x", "'new file'", "empty/n", ".new", "ld/new"},
	'm': {"600", "644", "755", "a-w", "u+x,go=", "000", "+t"},
	'g': {"*.o", "*", "m*", "?"},
	'p': {"%f", "%d", "*.o", "src/*", "{a,b}", "[ab]", "t.?"},
}

func generate(r *rand.Rand) string {
	var words []string
	for range 1 + r.IntN(3)*r.IntN(2) {
		words = append(words, expand(r, "%c"))
	}
	return strings.Join(words, []string{"; ", " && ", "\n"}[r.IntN(3)])
}

// arranged are states of the tree that a variation of a recorded command may meet: other modes, links and kinds.
var arranged = []string{"", "", "", "chmod 400 a.txt", "chmod 000 b.txt", "rm b.txt; ln -s a.txt b.txt", "rm b.txt; mkdir b.txt",
	"mkdir out.txt", "ln -s nowhere out.txt", "ln -s sub/deep.txt out.txt", "ln a.txt out.txt", "chmod 500 sub", "printf n >newfile",
	"ln -s sub newfile", "rm -r sub; ln -s src sub", "mkdir -p made.txt/in", "rm a.txt", "git add a.txt b.txt", "mkfifo out.txt",
	"chmod 4755 a.txt", "printf o >out.txt; chmod 600 out.txt", "truncate -s 1M a.txt", "cp -r .git sub/.git"}

// recordedNames finds the names of files in recorded commands. In `sed -i s/a/b/ a.txt` it finds `a.txt`.
var recordedNames = regexp.MustCompile(`(^|[\s=><])(a\.txt|b\.txt|out\.txt|newfile|made\.txt|link|sub|src|x\.sh|src/x\.sh|a\.go)(\s|;|$)`)

// vary puts other names, or several, into a recorded command: `rm a.txt` becomes `rm 'with blank' l`.
func vary(r *rand.Rand, text string) string {
	text = recordedNames.ReplaceAllStringFunc(text, func(name string) string {
		at := recordedNames.FindStringSubmatchIndex(name)
		kinds := []string{name[at[4]:at[5]], "%f", "%f", "%f %f", "%p", "%n", "%d", "a.txt b.txt"}
		return name[:at[4]] + kinds[r.IntN(len(kinds))] + name[at[5]:]
	})
	if r.IntN(5) == 0 {
		text += []string{"; %c", " && %c", "\n%c"}[r.IntN(3)]
	}
	return expand(r, text)
}

// expand puts texts of the grammar where it names them: `%f` becomes `src/m.go`, and `date +%s` stays.
func expand(r *rand.Rand, text string) string {
	for at := 0; at+1 < len(text); {
		if of := grammar[text[at+1]]; text[at] == '%' && of != nil {
			text = text[:at] + of[r.IntN(len(of))] + text[at+2:]
		} else {
			at++
		}
	}
	return text
}

// TestVariations runs commands and takes them back: the tree is as it was before, or the command was not called
// reversible before it ran. They run confined, for what is tried here is whether the analysis is right.
func TestVariations(t *testing.T) {
	if m := confine.Probe(t.Context()); m.Level != confine.LevelFull {
		t.Skipf("commands are run confined, which this machine cannot: %s", m.Why)
	}
	t.Setenv("HOME", t.TempDir())
	from := template(t)
	if err := run(t, from, `printf w >'with blank'; printf n >$'n\nl'; ln b hard; printf m >mode; chmod 640 mode; printf h >.hidden
		tar cf pack.tar src; printf '1\n2\n3\n' >a.txt; printf 2 >b.txt; mkdir sub
		printf 1,b >n.csv; printf '#!/bin/sh\n' >evil; chmod 755 evil; cp evil src/x.sh; ln -s a.txt link; printf '{"a":[1]}' >a.json
		printf deep >sub/deep.txt; printf 'package x\n' >a.go; printf 'echo x\n' >x.sh; printf A=1 >.env; ln -s .env envlink; ln -s . selflink
		mkdir 5 config dist scripts tests; printf -- '--- a\n+++ a\n@@ -1 +1 @@\n-mine\n+yours\n' >p.diff`); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(*seed, 2))
	recorded := harmful(t)
	counts := map[string]int{}
	var bases []string // commands that are said beforehand to be reversible
	for _, text := range recorded {
		how := takeBack(t, from, "", text)
		counts[how]++
		if how != notReversible {
			bases = append(bases, text)
		}
	}
	for n := range *variations {
		if len(bases) > 0 && n%2 == 1 {
			counts[takeBack(t, from, arranged[r.IntN(len(arranged))], vary(r, bases[r.IntN(len(bases))]))]++
		} else {
			counts[takeBack(t, from, "", generate(r))]++
		}
	}
	total := len(recorded) + *variations
	t.Logf("%d commands: %v", total, counts)
	if counts["taken back"] < total/10 {
		t.Error("next to nothing was taken back: the test is none")
	}
}

// labProject is the project of recorded commands.
const labProject = "/srv/lab/proj"

const notReversible = "not called reversible"

// takeBack runs one command in an arranged copy of the project and takes it back, and says how that went.
func takeBack(t *testing.T, from, arrange, text string) string {
	in := func(dir string) *Reach {
		text := strings.ReplaceAll(text, labProject, dir)
		return Of(effect.AnalyzeCommand(text, &effect.Options{Dir: dir, FS: obstat.OS{}}))
	}
	if r := in(from); !r.Certain() { // before a copy is made for it
		return notReversible
	} else if len(r.Paths) == 0 {
		return "said to change nothing"
	}
	dir := project(t, from)
	defer os.RemoveAll(dir)
	if arrange != "" && run(t, dir, arrange) != nil {
		return "not arranged"
	}
	text = strings.ReplaceAll(text, labProject, dir)
	reach := Of(effect.AnalyzeCommand(text, &effect.Options{Dir: dir, FS: obstat.OS{}}))
	if !reach.Certain() {
		return notReversible
	}
	for _, p := range reach.Paths {
		if !strings.HasPrefix(p.Paths.Known(), dir) {
			return "elsewhere"
		}
	}
	s, err := changes.Open(t.TempDir(), changes.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Save(changes.Of{Call: text}, reach.Paths, false)
	if err != nil || len(c.Gaps) > 0 {
		return "not kept"
	}
	before := linesOf(t, dir)
	p := confine.Profile{Read: []string{"/"}, Execute: []string{"/"}, Write: []string{dir}, Delete: []string{dir}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // `cat < pipe` waits
	defer cancel()
	_, err = confine.Run(ctx, p, confine.Command{Args: []string{"/bin/bash", "-c", text}, Dir: dir,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.c"}})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(linesOf(t, dir), before) {
		return "changed nothing"
	}
	if c, err = s.End(text, ""); err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan([]*changes.Change{c})
	if err == nil {
		_, err = plan.Apply(changes.Of{})
	}
	switch {
	case errors.Is(err, changes.ErrAgainst):
		t.Errorf("%q after %q: called reversible, and then: %v", text, arrange, err)
	case err != nil:
		t.Errorf("%q after %q: %v", text, arrange, err)
	default:
		if diff := cmp.Diff(before, linesOf(t, dir)); diff != "" {
			t.Errorf("%q after %q: the tree differs after it was taken back: %s", text, arrange, diff)
		}
	}
	return "taken back"
}

// harmful returns the commands of recorded calls, each once.
func harmful(t *testing.T) (out []string) {
	for _, name := range strings.Fields(*cases) {
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewReader(z); ; {
			line, err := lines.ReadBytes('\n')
			var row struct {
				Call  struct{ Input struct{ Command string } }
				Input struct{ Command string }
				C     string // an observed command, with the paths that it wrote and deleted
				W, D  []string
			}
			if json.Unmarshal(line, &row) == nil && (row.C == "" || len(row.W)+len(row.D) > 0) {
				if text := stdcmp.Or(row.C, row.Call.Input.Command, row.Input.Command); text != "" {
					out = append(out, text)
				}
			}
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[min(*skip, len(out)):min(*skip+*most, len(out))]
}
