package effect

import (
	"slices"
	"testing"
)

// A word that is not wholly known may be any flag of its program, wherever it comes from.
func TestOpenFlags(t *testing.T) {
	for _, c := range []string{
		`make --${Z:-eval}='z:;rm a' z`, "find . -name a -${Z:-exec} rm {} +", "find . -name a ${Z:--exec} rm {} +", "sort --compress-${Z:-program}=./x a",
		"while read -r Z; do find . $Z rm {} +; done <<< -exec", "for Z in $(echo -exec); do find . $Z rm {} +; done", "set -- -exec; shift 0; f() { find . $1 rm {} +; }; f $(echo -exec)",
		"mapfile -t a <<< -exec; find . ${a[0]} rm {} +", "tar -${Z:-I}./x -xf a.tar", "sort -k $(cat f) g", "timeout 5 sort --${Z:-x} a", "bash -c 'sort $X a'",
	} {
		if an := AnalyzeCommand(c, testOptions()); !hides(an) {
			t.Errorf("%s: nothing hides what runs: %+v", c, an.Gaps)
		}
	}
	anything := func(an *Analysis, k Kind) bool {
		return slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Kind == k && e.Path == "" && !e.Unnamed })
	}
	for c, kind := range map[string]Kind{
		"git log --out${Z:-put}=f": Write, "git log -1 --$(echo output)=f": Write, "git show ${Z---output=f} HEAD": Write, "git diff --output${Z:-=}f": Write,
		"cp x --${Z:-target-directory}=d": Write, `git log "$(cat args)"`: Write, "head -n $(echo 1 .env)": Read,
	} {
		if an := AnalyzeCommand(c, testOptions()); !anything(an, kind) && !hides(an) {
			t.Errorf("%s: no %v of anything: %+v", c, kind, an.Effects)
		}
	}
}

// The value of a flag, the words behind `--` and those that a variable from outside is a part of are no flags.
func TestNoOpenFlags(t *testing.T) {
	for _, c := range []string{
		"cargo build --features $F", `cargo build --features "$F"`, `tar xzf "$X.tar.gz"`, "go test -- $(cat pkgs)", "git tag v$V", "go build -o bin/$N ./cmd/$N", "head -${N} a",
		"docker build -t $I:$T .", "make -j $(nproc)", "git diff origin/$BRANCH...HEAD",
	} {
		if an := AnalyzeCommand(c, testOptions()); hides(an) {
			t.Errorf("%s: %+v", c, an.Gaps)
		}
	}
	for _, c := range []string{"git diff $BASE $HEAD", `git log "v$V"`, "git show $X"} {
		an := AnalyzeCommand(c, testOptions())
		if slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Kind == Write }) {
			t.Errorf("%s writes: %+v", c, an.Effects)
		}
	}
}

// A word of which the use is not said is noted, and one that is text is not.
func TestMentions(t *testing.T) {
	for c, want := range map[string]bool{
		"nm @.env": true, "dmesg --facility .env": true, "dmesg --since .env": false, "tar --transform 's,^,.git/hooks/,' -xf x.tar": true, "git commit -m .env": false, "echo .env": false, "grep -n .env a": false,
		"tar --exclude=.env -cf x.tar src": false, "git log --grep=.env": false, "rg -g '!.env' x": false, "find . -name .env": false,
	} {
		an := AnalyzeCommand(c, testOptions())
		if got := len(an.Commands[0].Mentions) > 0; got != want {
			t.Errorf("%s: mentions %v", c, an.Commands[0].Mentions)
		}
	}
	for c, want := range map[string]int{"frobnicate <<< '!cat .env'": 1, "cat <<< .env": 0, "grep x <<< .env": 0, "tee a <<< .env": 0, "git commit -F - <<< .env": 0} {
		if an := AnalyzeCommand(c, testOptions()); len(an.Fed) != want {
			t.Errorf("%s: fed %+v", c, an.Fed)
		}
	}
}

// A command that prints plain words prints no flag, with text around it as well.
func TestPrintsNoFlag(t *testing.T) {
	for _, c := range []string{"make -j$(nproc)", "git log $(git describe --tags --abbrev=0)..HEAD --oneline"} {
		an := AnalyzeCommand(c, testOptions())
		open := func(e Effect) bool { return e.Kind == Write && e.Loose() }
		if hides(an) || slices.ContainsFunc(an.Effects, open) {
			t.Errorf("%s: %+v %+v", c, an.Gaps, an.Effects)
		}
	}
}
