// Command files measures obstat on permission files that people have published.
//
//	go run -C lab/files . fetch [-mirrors DIR] [-cache DIR]
//	go run -C lab/files . mean  [-cache DIR]
//	go run -C lab/files . check [-cache DIR] [-v]
//	go run -C lab/files . convert | init | lint | export | gc | suggest [-cache DIR] [-v] [-skip N]
//
// Every command takes `-manifest FILE`, a list of other files, with a cache of their own.
//
// manifest.tsv has the repository, path, commit and digest of each file; the files themselves are
// fetched into a cache outside of the repository. `mean` writes down which calls their authors plainly
// meant to allow, to be asked about or to forbid, by readers of its own that share no code with obstat;
// the others load the files with obstat, decide those calls and count.
package main

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed manifest.tsv
var manifest string

// An entry is a file of the manifest.
type entry struct{ repo, path, commit, digest string }

func (l *lab) entries() (out []entry) {
	for line := range strings.Lines(l.list) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 4 && line[0] != '#' {
			out = append(out, entry{f[0], f[1], f[2], f[3]})
		}
	}
	return out
}

// in returns where the file lies in a cache.
func (e *entry) in(cache string) string {
	return filepath.Join(cache, "files", strings.ReplaceAll(e.repo, "/", "+"), filepath.FromSlash(e.path))
}

type lab struct {
	cache, mirrors string
	list           string // the manifest
	verbose        bool
	skip           int
}

func main() {
	home, _ := os.UserCacheDir()
	l := &lab{list: manifest}
	flags := flag.NewFlagSet("files", flag.ExitOnError)
	flags.StringVar(&l.cache, "cache", filepath.Join(home, "obstat-files"), "where the files are kept")
	flags.StringVar(&l.mirrors, "mirrors", "", "a directory of clones, owner+name/repo; \"\" asks GitHub")
	flags.BoolVar(&l.verbose, "v", false, "print every call that is not as it was meant")
	flags.IntVar(&l.skip, "skip", 1, "export, convert, gc and suggest look at every n-th file")
	does := map[string]func() error{"fetch": l.fetch, "mean": l.mean, "check": l.check, "convert": l.convert,
		"init": l.drafts, "lint": l.lint, "export": l.export, "gc": l.gc, "suggest": l.suggest}
	if len(os.Args) < 2 || does[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: files fetch|mean|check|convert|init|lint|export|gc|suggest [-cache DIR] [-mirrors DIR] [-v]")
		os.Exit(2)
	}
	flags.Func("manifest", "a list of other files; \"\" is the one that is built in", func(name string) error {
		data, err := os.ReadFile(name)
		l.list = string(data)
		return err
	})
	_ = flags.Parse(os.Args[2:])
	if err := does[os.Args[1]](); err != nil {
		fmt.Fprintln(os.Stderr, "files:", err)
		os.Exit(1)
	}
}

// fetch brings the files that are not there, or not with their digest.
func (l *lab) fetch() error {
	all, bad := l.entries(), 0
	for i := range all {
		e := &all[i]
		if data, err := os.ReadFile(e.in(l.cache)); err == nil && digest(data) == e.digest {
			continue
		}
		data, err := l.get(e)
		if err == nil && digest(data) != e.digest {
			err = fmt.Errorf("its digest is %s", digest(data))
		}
		if err == nil {
			if err = os.MkdirAll(filepath.Dir(e.in(l.cache)), 0o755); err == nil {
				err = os.WriteFile(e.in(l.cache), data, 0o644)
			}
		}
		if err != nil {
			bad++
			fmt.Printf("%s %s: %v\n", e.repo, e.path, err)
		}
	}
	fmt.Printf("%d files, %d not to be had\n", len(all), bad)
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// get reads a file at its commit.
func (l *lab) get(e *entry) ([]byte, error) {
	if l.mirrors != "" {
		dir := filepath.Join(l.mirrors, strings.Replace(e.repo, "/", "+", 1), "repo")
		return exec.Command("git", "--git-dir="+dir, "show", e.commit+":"+e.path).Output()
	}
	resp, err := http.Get("https://raw.githubusercontent.com/" + e.repo + "/" + e.commit + "/" + e.path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, 16<<20))
}
