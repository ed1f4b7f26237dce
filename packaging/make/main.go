// Command make builds obstat for every system and packs it: `make dist`.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/format/minisign"
	"github.com/obstat/obstat/packaging"
	"github.com/obstat/obstat/packaging/site"
)

func main() {
	out := flag.String("out", "dist", "directory that gets the packages")
	only := flag.String("only", "", "targets to build, as linux_amd64,darwin_arm64; all where empty")
	version := flag.Bool("version", false, "print the version that would be built, and build nothing")
	key := flag.String("key", os.Getenv("OBSTAT_SIGN_KEY"), "`file` with minisign's secret key, made by minisign -G -W "+
		"(default $OBSTAT_SIGN_KEY)")
	unsigned := flag.Bool("unsigned", false, "build a release without a signature")
	play := flag.Bool("play", false, "build the playground alone, into the directory of -out")
	docs := flag.Bool("site", false, "build the documentation's site alone, into the directory of -out")
	root := flag.String("root", "..", "the checkout; the other paths are as seen from there")
	flag.Parse()
	if err := os.Chdir(*root); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
	if *version {
		at, err := head()
		if err != nil {
			fmt.Fprintln(os.Stderr, "dist:", err)
			os.Exit(1)
		}
		fmt.Println(at.version)
		return
	}
	for make, wanted := range map[string]bool{"play": *play, "site": *docs} {
		if !wanted {
			continue
		}
		if err := pages(*out, map[string]maker{"play": site.Play, "site": site.Docs}[make]); err != nil {
			fmt.Fprintln(os.Stderr, make+":", err)
			os.Exit(1)
		}
		return
	}
	at, err := head()
	var secret *minisign.SecretKey
	if err == nil {
		secret, err = signer(at.version, *key, *unsigned)
	}
	if err == nil {
		err = run(*out, *only, secret)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// A maker makes files of the checkout at root.
type maker func(root string) ([]packaging.File, error)

// pages writes the files that make makes of this checkout.
func pages(out string, make maker) error {
	files, err := make(".")
	if err != nil {
		return err
	}
	return packaging.Write(out, files)
}

// A commit is the source of a build.
type commit struct {
	version, revision, whole string
	time                     time.Time
}

// head returns the commit of this checkout: its tag, or a version made of its time and name, as
// the go command makes them.
func head() (c commit, err error) {
	text, err := git("log", "-1", "--format=%ct %H")
	if err != nil {
		return c, err
	}
	var seconds int64
	if _, err := fmt.Sscan(text, &seconds, &c.revision); err != nil {
		return c, err
	}
	c.time, c.whole, c.revision = time.Unix(seconds, 0).UTC(), c.revision, c.revision[:12]
	if c.version, err = git("describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err != nil {
		c.version = "v0.0.0-" + c.time.Format("20060102150405") + "-" + c.revision
	}
	changed, err := git("status", "--porcelain")
	if changed != "" {
		c.version += "+dirty"
	}
	return c, err
}

// signer reads the key of a release. A version that has no tag may go without one, and says so.
func signer(version, name string, unsigned bool) (*minisign.SecretKey, error) {
	switch {
	case name != "":
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("the key to sign with cannot be read: %w", err)
		}
		k, err := minisign.ParseSecret(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &k, nil
	case !unsigned && !strings.HasPrefix(version, "v0.0.0-"):
		return nil, fmt.Errorf("%s is a release and there is no key to sign it with: give -key FILE or set OBSTAT_SIGN_KEY "+
			"(minisign -G -W makes one), or build it with -unsigned", version)
	}
	fmt.Println("not signed: there is no key (-key FILE, or OBSTAT_SIGN_KEY)")
	return nil, nil
}

// manual has obstat write the pages of its manual.
func manual() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "obstat-man")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "run", "./cmd/obstat", "man", dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the manual: %w", err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.1"))
	out := map[string][]byte{}
	for _, name := range names {
		if out[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return out, err
}

func run(out, only string, key *minisign.SecretKey) error {
	at, err := head()
	if err != nil {
		return err
	}
	p := packaging.Obstat()
	p.Version, p.Time, p.Docs = strings.TrimPrefix(at.version, "v"), at.time, map[string][]byte{}
	p.Revision, p.Key = at.whole, key
	if p.Man, err = manual(); err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		if p.Docs[name], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	fmt.Println("build the playground")
	if p.Play, err = site.Play("."); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "obstat-dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var binaries []packaging.Binary
	for _, t := range packaging.Targets() {
		if only != "" && !strings.Contains(","+only+",", ","+t.String()+",") {
			continue
		}
		fmt.Println("build", t)
		data, err := build(filepath.Join(tmp, t.String()), t, &at)
		if err != nil {
			return err
		}
		binaries = append(binaries, packaging.Binary{Target: t, Data: data})
	}
	if len(binaries) == 0 {
		return fmt.Errorf("no target is called %s", only)
	}
	files, err := p.Pack(binaries)
	if err != nil {
		return err
	}
	for _, f := range files {
		fmt.Printf("%10d  %s\n", len(f.Data), f.Name)
	}
	return packaging.Write(out, files)
}

// build builds one static binary. Version, commit and its time are given to the linker; nothing of
// this machine gets in.
func build(name string, t packaging.Target, at *commit) ([]byte, error) {
	stamp := fmt.Sprintf("-X 'github.com/obstat/obstat/internal/face/cli.stamped=obstat-release %s %s %s'", at.version,
		at.revision, at.time.Format(time.RFC3339))
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid= "+stamp, "-o", name,
		"./cmd/obstat")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.OS, "GOARCH="+t.Arch, "GOAMD64=v1",
		"GOARM64=v8.0")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
