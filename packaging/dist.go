// Package packaging packs obstat for people who have no Go: archives with the binary for each system, a
// Debian package, a container image, descriptions for other package managers, signed checksums, the
// provenance, and a list of the modules inside.
//
// It owns the form of these files. All are made from one description, [Product], and from the
// binaries alone, so that the same binaries give the same bytes. How the binaries are built is
// package main's business, in packaging/make.
package packaging

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/format/minisign"
)

// A Product is packed in the words that every form of package wants.
type Product struct {
	Name        string
	Summary     string // one line
	Description string
	Homepage    string
	License     string // by its SPDX name
	Maintainer  string
	Version     string    // without a v
	Time        time.Time // of the commit; every file in a package has it
	Revision    string    // of the commit, whole
	Docs        map[string][]byte
	Man         map[string][]byte // pages of section 1, by name: `obstat-check.1`
	Play        []File            // the playground's files, for the image and an archive of their own
	// Key signs the sums and the provenance; nil leaves both out.
	Key *minisign.SecretKey
}

// Obstat describes the product; version, time and documents are to be filled in.
func Obstat() Product {
	return Product{
		Name:    "obstat",
		Summary: "the permission system for AI agents' tool calls",
		Description: "obstat answers every tool call of an AI agent with allow, ask or deny, by rules that people write,\n" +
			"explains why, and writes the answer down in a ledger that shows every later change.",
		Homepage:   "https://github.com/obstat/obstat",
		License:    "Apache-2.0",
		Maintainer: "The obstat maintainers <maintainers@obstat.invalid>",
	}
}

// A Target is a system that there is a binary for.
type Target struct{ OS, Arch string }

// String returns "linux_amd64".
func (t Target) String() string { return t.OS + "_" + t.Arch }

// Targets are the systems that are built for.
func Targets() []Target {
	var out []Target
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			out = append(out, Target{system, arch})
		}
	}
	return out
}

// A Binary is a program that was built for a target.
type Binary struct {
	Target
	Data []byte
}

// A File is one file of a package, or a package.
type File struct {
	Name string
	Mode int64
	Data []byte
}

// Pack makes all packages of the binaries, those of each form in turn, and the checksums last.
func (p *Product) Pack(binaries []Binary) ([]File, error) {
	var out []File
	add := func(f File, err error) error {
		out = append(out, f)
		return err
	}
	for _, b := range binaries {
		if err := add(p.archive(b)); err != nil {
			return nil, err
		}
		if err := add(p.sbom(b)); err != nil {
			return nil, err
		}
		if b.OS == "linux" {
			if err := add(p.deb(b)); err != nil {
				return nil, err
			}
		}
	}
	linux := slices.DeleteFunc(slices.Clone(binaries), func(b Binary) bool { return b.OS != "linux" })
	if len(linux) > 0 {
		if err := add(p.image(linux)); err != nil {
			return nil, err
		}
	}
	if len(p.Play) > 0 {
		if err := add(p.play()); err != nil {
			return nil, err
		}
	}
	out = append(out, p.formula(out))
	out = append(out, p.descriptions(out)...)
	if p.Key == nil {
		return append(out, sums(out)), nil
	}
	out = append(out, p.provenance(binaries, out))
	list := sums(out)
	return append(out, list, p.signed(list)), nil
}

// sums lists the files as sha256sum -c reads them.
func sums(files []File) File {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", digest(f.Data), f.Name)
	}
	return File{Name: "SHA256SUMS", Mode: 0o644, Data: []byte(b.String())}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Write writes the files into a directory.
func Write(dir string, files []File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f.Name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, os.FileMode(f.Mode)); err != nil {
			return err
		}
	}
	return nil
}
