package effect

import (
	"slices"
	"testing"
)

// What another program lists, or find finds, is read: where secrets may be among that, it is
// not just a read.
func TestFoundFiles(t *testing.T) {
	for cmd, want := range map[string]bool{
		"find . -name '*.go' | xargs cat":                         true,
		"find src -type f -print0 | xargs -0 grep foo":            true,
		"find . -name '*.go' -exec cat {} +":                      true,
		"git ls-files | xargs wc -l":                              true,
		"rg -l foo | xargs cat":                                   true,
		"find ~/src -name '*.go' | xargs grep x":                  true,
		"find / -name x | xargs ls -l":                            true,
		"find / -name shadow | xargs cat":                         false,
		"find /etc -name 'sha*' | xargs cat":                      false,
		"find ~ -type f | xargs cat":                              false,
		"find ~ -exec cat {} +":                                   false,
		"find /root -exec cat {} +":                               false,
		"find ~/.ssh -type f -exec cat {} ';'":                    false,
		"find . / -name '*dow' -exec cat {} +":                    false,
		"cd / && find . -name shadow | xargs cat":                 false,
		"cd ~ && find . -type f | xargs cat":                      false,
		"fd . / | xargs cat":                                      false,
		"find . -maxdepth 0 -printf '/etc/shadow\\n' | xargs cat": false,
		"git ls-files --format=/etc/shadow | xargs cat":           false,
		"git ls-files --form=/etc/shadow | xargs cat":             false,
		"echo foo | grep -l --label=/etc/shadow foo | xargs cat":  false,
		"fd --format /etc/shadow | xargs cat":                     false,
		"sort --files0-from=list":                                 false,
	} {
		if an := AnalyzeCommand(cmd, testOptions()); an.ReadOnly != want {
			t.Errorf("%s: read-only is %v (%s)", cmd, an.ReadOnly, an.Why)
		}
	}
}

// A variable that a loop sets to the lines of a listing is a file that was found, and one over a pattern with an ending the
// name of such a file; one that holds anything else is not known.
func TestLoopsOverFiles(t *testing.T) {
	for c, want := range map[string]bool{
		"for f in $(find . -name '*.ts'); do grep -c x $f; done": true, `find . -name '*.md' | while read -r f; do wc -l "$f"; done`: true, `find . -name '*.md' | grep -v x | head -n 5 | while read f; do cat "$f"; done`: true,
		"for f in *.go; do gofmt -l $f; done": true, "git diff --name-only | xargs grep -n TODO": true, "git ls-files | xargs wc -l": true, "git diff --name-only HEAD~1 | xargs -I{} wc -l {}": true,
		`find . -name '*.md' | while read f; do cat "$f.key"; done`: false, "find . -name '*.md' | while read f < x; do cat $f; done": false, "{ find . -name '*.md'; cat x; } | while read f; do cat $f; done": false,
		"cat x | while read f; do cat $f; done": false, "find . | sed s/a/b/ | while read f; do cat $f; done": false, "for f in *; do gofmt -l $f; done": false, "for f in $X; do gofmt -l $f; done": false,
		"find . -name '*.md' | while read f; do rm $f; done": false, "for f in $(find / -name id_rsa); do cat $f; done": false, "find . -name '*.md' | while read f; do f=$X; cat $f; done": false,
	} {
		if a := AnalyzeCommand(c, testOptions()); a.ReadOnly != want {
			t.Errorf("%s: read-only is %v: %s", c, a.ReadOnly, a.Why)
		}
	}
}

// Values of variables that choose no program hide none, and PATH only where nothing stands before what there was.
func TestAssignedValues(t *testing.T) {
	for c, hides := range map[string]bool{
		"DATABASE_URL=postgres://localhost/x npm test": false, "NODE_OPTIONS=--max-old-space-size=4096 npm test": false, "GOFLAGS=-mod=mod go test ./...": false, "RUSTFLAGS='-D warnings' cargo check": false,
		"export PATH=$PATH:./node_modules/.bin && tsc": false, `export PATH="$PATH:$HOME/go/bin"; ls`: false, "CFLAGS='-O2 -g' make": false,
		"NODE_OPTIONS='--require ./x' npm test": true, "GOFLAGS=-toolexec=rm go test": true, "RUSTFLAGS='-C linker=rm' cargo check": true, "PATH=/x:$PATH ls": true, "PATH=$PATH ls": true, "unset PATH; PATH=$PATH:/x ls": true,
		"PATH=; PATH=$PATH:/x; ls": true, "GIT_SSH_URL=x git fetch": true, "CFLAGS='-O2 -B/x' make": true,
	} {
		a := AnalyzeCommand(c, testOptions())
		if got := slices.ContainsFunc(a.Gaps, func(g Gap) bool { return g.Kind == Environment }); got != hides || a.ReadOnly {
			t.Errorf("%s: hides a program: %v, read-only %v: %+v", c, got, a.ReadOnly, a.Gaps)
		}
	}
}
