package shell_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/shell"
)

// TestPrinted: of some commands it is known what they print, or that it is one plain word: no flag, and not split.
func TestPrinted(t *testing.T) {
	for src, want := range map[string]string{
		"use $(mktemp)":                                       "/tmp/tmp.XXXXXXXXXX",
		`use "$(mktemp -d)/a"`:                                "/tmp/tmp.XXXXXXXXXX/a",
		"T=$(mktemp /tmp/a.XXX); use $T":                      "/tmp/a.XXX",
		"use $(mktemp a.XXX) $(mktemp /tmp/../a.XXX)":         "dynamic dynamic",
		"use $(mktemp -p src) $(mktemp --tmpdir=src)":         "dynamic dynamic",
		"use $(dirname a/b/c) $(dirname a) $(dirname /a)":     "a/b . /",
		"use $(dirname a//b/) $(dirname / ) $(dirname //a//)": "a / /",
		`use $(dirname "a b/c") $(dirname -z a) $(dirname)`:   "dynamic dynamic dynamic",
		"use $(dirname $x) $(dirname a/*)":                    "dynamic dynamic",
		"use $(sysctl -n hw.ncpu) $(sysctl -n x)":             "word dynamic",
		"use $(nproc)":                                                 "word",
		`use "$(git branch --show-current)"`:                           "word",
		"B=$(git rev-parse HEAD); use $B":                              "word",
		"use $(docker ps -q) $(docker ps --format x)":                  "word dynamic",
		"use $(docker ps -aq --filter name=db) $(docker volume ls -q)": "word word",
		"use $(docker ps -q --format x) $(docker inspect -q x)":        "dynamic dynamic",
		"use $(date +%F) $(date +-x) $(date '+%F x')":                  "word dynamic dynamic",
		"use $(date +v%Y.%m-%d_%H%M) $(date +%s)":                      "word word",
		"use $(date +%n-rf) $(date +%Z) $(date +%z)":                   "dynamic dynamic dynamic",
		"use $(date +%t-rf) $(date +%p-rf) $(date +%)":                 "dynamic dynamic dynamic",
		"use $(git rev-parse --x) $(git branch)":                       "dynamic dynamic",
		"use $(git describe --tags)":                                   "dynamic", // a tag of another's
		"use $(nproc)$x":                                               "dynamic",
		`use "$(nproc)$x"`:                                             "word",
		`B="$(nproc)$x"; use $B`:                                       "dynamic",
		"B=$x; if true; then B=$(nproc); fi; use $B":                   "dynamic",
		"nproc() { echo -x; }; use $(nproc)":                           "dynamic",
		"nproc ( ) { echo -x; }; use $(nproc)":                         "dynamic",
		"other() { echo -x; }; use $(nproc)":                           "word",
		"alias a=b; use $(nproc)":                                      "dynamic",
		"eval x; use $(mktemp)":                                        "dynamic",
		"use $(nproc; echo -x) $(nproc | tr 1 -)":                      "dynamic dynamic",
		"use $(nproc > a)":                                             "dynamic",
		"git symbolic-ref HEAD x; use $(git rev-parse HEAD)":           "dynamic",
		`for f in *.js; do use "${f%.js}.ts"; done`:                    "*.ts",
		`for f in a/*.js; do use "${f##*/}" "${f%.*}.x"; done`:         "*.js a/*.x",
		`for f in a/*.js; do use "${f%/*}" "${f%s*}"; done`:            "dynamic dynamic",
		`for f in *; do use "${f%.js}"; done`:                          "dynamic",
		`for f in a[.]*; do use "${f%.*}"; done`:                       "dynamic",
	} {
		s := shell.Parse(src, nil)
		var got []string
		for i := range s.Commands {
			if c := &s.Commands[i]; len(c.Words) > 0 && c.Words[0].Text == "use" {
				for j := range c.Words[1:] {
					switch w := &c.Words[1+j]; {
					case w.Known:
						got = append(got, w.Text)
					case shell.IsPrinted(w):
						got = append(got, "word")
					default:
						got = append(got, "dynamic")
					}
				}
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %q, want %q", src, g, want)
		}
	}
}

// A name that stands before a parenthesis, however often it is asked for, is looked for once.
func TestRedefinesOften(t *testing.T) {
	s := shell.Parse(strings.Repeat("use $(nproc) $(mktemp);", 4000)+"nproc() { x; }", nil)
	for i := range 4000 {
		if name := strings.Repeat("a", i%200+1); s.Redefines(name) && i%200 < 60 {
			t.Fatalf("%s is redefined", name)
		}
	}
	if !s.Redefines("nproc") {
		t.Error("nproc is not redefined")
	}
}

// A command without a name, `"" | xargs x`, is not looked for in the text.
func TestRedefinesNothing(t *testing.T) {
	if !shell.Parse(`"" | xargs x`, nil).Redefines("") {
		t.Error("nothing is known of it")
	}
}
