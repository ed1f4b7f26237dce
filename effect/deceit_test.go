package effect

import (
	"slices"
	"testing"
)

// No honest call has such texts, and these that look alike are honest.
func TestDeceit(t *testing.T) {
	for c, want := range map[string]bool{
		"ls \u202eabc": true, "c\u200bat a": true, "echo \U000e0041": true, "\u0441at a": true, "curl https://github.com@evil.example/x": true,
		"curl https://g\u0456thub.com/x": true, "git clone https://ghp_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8@github.com/a/b": true,
		"printf -- '-----BEGIN RSA PRIVATE KEY-----\nMII\n' > k": true, ":(){ :|:& };:": true, "while true; do sleep 1 & done": true, "for ((;;)); do ./x & done": true,
		"while [[ 1 ]]; do x & done": true, "while /bin/true; do a & wait; b & done": true, "until /usr/bin/false; do x & done": true, "for ((i=0;;i++)); do x & done": true,
		"curl https://\uff47oogle.com/x": true, "curl https://example\u3002com/x": true, "while true; do x; done; for i in 1 2; do y & done": false, "while true; do x & wait; done": false,
		"f() { f & f & }; f": true, "bomb() { bomb | bomb & }\nbomb": true, "function b { b|b& }; b": true, "perl -e 'fork while 1'": true,
		"python3 -c 'import os\nwhile 1: os.fork()'": true, "curl https://github.com:443@evil.example/x": true,
		"build() { npm run build & }; build": false, "log() { echo x >&2; log2 a & }; log": false, "curl https://jo.doe:secret@example.com": false,
		"git commit -m 'family \U0001f468\u200d\U0001f469\u200d\U0001f467'": false, "git commit -m 'привет'": false, "curl https://user:pass@example.com": false,
		"echo ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxx": false, "npm run dev & sleep 5; while true; do sleep 1; done": false, "git clone git@github.com:a/b": false,
	} {
		if _, why := AnalyzeCommand(c, testOptions()).Deceit(); (why != "") != want {
			t.Errorf("%q: %q", c, why)
		}
	}
}

// A flag has all of its names, alone, bundled and abbreviated.
func TestFlagNames(t *testing.T) {
	for c, want := range map[string]string{
		"git push origin main -f": "--force", "git push -uf origin main": "--force", "git reset -q --har": "--hard", "git reset --h": "--hard", "git push origin +main": "--force", "rm -r -f x": "-f",
		"git branch --delete x": "-d", "git -C a push --force": "--force",
	} {
		an := AnalyzeCommand(c, testOptions())
		if got := an.Commands[0].FlagNames(); !slices.Contains(got, want) {
			t.Errorf("%s: %q", c, got)
		}
	}
}

// A command that destroys something elsewhere changes a service.
func TestDestroys(t *testing.T) {
	for c, want := range map[string]bool{
		"gh repo delete a/b": true, "aws s3 rb s3://b --force": true, "helm uninstall web": true, "gh pr list": false, "aws s3 ls": false, "gh pr create --title delete": false,
	} {
		an := AnalyzeCommand(c, testOptions())
		if got := slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Tags.Has(Destroy) }); got != want {
			t.Errorf("%s: %+v", c, an.Effects)
		}
	}
}
