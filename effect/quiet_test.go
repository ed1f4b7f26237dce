package effect

import (
	"strings"
	"testing"
)

// A redirect to a CI system's own file is none to a file of the project, as long as nothing in the line says where the
// variable leads, and the variable is all that the target is.
func TestRunnerFiles(t *testing.T) {
	for command, want := range map[string]bool{
		`echo a=b >> $GITHUB_OUTPUT`:                             true,
		`echo a=b >> "${GITHUB_ENV}"`:                            true,
		`if true; then date > "$GITHUB_STEP_SUMMARY"; fi`:        true,
		`echo a | tee -a $GITHUB_OUTPUT`:                         true,
		`cat "$GITHUB_OUTPUT"`:                                   true,
		`grep -r a $GITHUB_OUTPUT`:                               false,
		`cat "$GITHUB_OUTPUT.env"`:                               false,
		`echo a >> $GITHUB_OUTPUT.env`:                           false,
		`echo a >> "./$GITHUB_OUTPUT"`:                           false,
		`echo a >> ${GITHUB_OUTPUT:-.env}`:                       false,
		`echo a >> ${GITHUB_OUTPUT%x}`:                           false,
		`echo a >> $OTHER_OUTPUT`:                                false,
		`GITHUB_OUTPUT=.env; echo a >> $GITHUB_OUTPUT`:           false,
		`read GITHUB_OUTPUT < x; echo a >> $GITHUB_OUTPUT`:       false,
		`mapfile -t GITHUB_OUTPUT < x; echo a >> $GITHUB_OUTPUT`: false,
		`. ./x; echo a >> $GITHUB_OUTPUT`:                        false,
		`bash -c 'echo a >> $GITHUB_OUTPUT'`:                     false,
	} {
		an := AnalyzeCommand(command, nil)
		got := false
		for i := range an.Effects {
			got = got || an.Effects[i].IsRunnerFile()
		}
		if got != want {
			t.Errorf("%s: a CI system's file %v, want %v", command, got, want)
		}
	}
}

// env takes as many variables as there are, and each of them counts.
func TestEnvTakesAnyNumber(t *testing.T) {
	if an := AnalyzeCommand("env A=1 B=2 C=3 D=4 ls", nil); len(an.Gaps) > 0 || len(an.Commands) != 2 {
		t.Errorf("gaps %v, commands %d", an.Gaps, len(an.Commands))
	}
	for _, command := range []string{"env A=1 B=2 C=3 LD_PRELOAD=./x ls", "env A=1 LD_PRELOAD=./x C=3 D=4 ls"} {
		if an := AnalyzeCommand(command, nil); len(an.Gaps) != 1 || an.Gaps[0].Kind != Environment {
			t.Errorf("%s: %v", command, an.Gaps)
		}
	}
}

// The text of a command with half a quotation before its unknown part can be parsed again.
func TestQuotesBeforeUnknown(t *testing.T) {
	for command, want := range map[string]string{
		`echo "it's $x" b`: `echo "it's $x" b`,
		`echo "a \"$x\""`:  `echo "a \"$x\""`,
		`git log "--x=$y"`: `git log --x="--x=$y"`,
	} {
		c := AnalyzeCommand(command, nil).Commands[0]
		if c.Text != want || !strings.HasPrefix(c.Text, c.Prefix) {
			t.Errorf("%s: text %s, prefix %s, want %s", command, c.Text, c.Prefix, want)
		}
	}
}

// Which key of fzf runs what only its flags say; without them it shows what it is given.
func TestFzfRunsByFlags(t *testing.T) {
	for command, want := range map[string]bool{
		"fzf --height 40% --layout reverse -q x": true, "fzf +i": true,
		"fzf --bind 'start:execute(rm x)'": false, "fzf --preview=cat": false, "fzf --listen": false, "fzf $X": false,
	} {
		if an := AnalyzeCommand(command, nil); (len(an.Gaps) == 0) != want {
			t.Errorf("%s: gaps %v", command, an.Gaps)
		}
	}
}

func TestHarmlessVariable(t *testing.T) {
	for name, want := range map[string]bool{"CI": true, "RUST_LOG": true, "LD_PRELOAD": false, "PATH": false, "TAGS": false} {
		if HarmlessVariable(name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

// A package that a package manager installs is no command that it runs.
func TestPackagesAreNoCommands(t *testing.T) {
	for command, want := range map[string]bool{
		"apt-get install -y curl git": true, "sudo apt-get -qq -y install curl": true, "npm install rm": true,
		"brew install curl":   true,
		"apt-get update rm x": false, "hatch run install rm x": false, "yarn dlx rm": false, "pipx run rm x": false,
		"npm install --call 'rm x'": false,
	} {
		an := AnalyzeCommand(command, nil)
		quiet := true
		for i := range an.Commands {
			quiet = quiet && len(an.Commands[i].Tails) == 0
		}
		if quiet != want {
			t.Errorf("%s: no command among the words %v, want %v", command, quiet, want)
		}
	}
}

// A variable that only its name's end suspects is nobody's where nothing runs.
func TestLoneAssignment(t *testing.T) {
	for command, want := range map[string]bool{
		`KEYCHAIN_PATH="$X/y"`: true, `A=1 SRC=a.js`: true, "KEYCHAIN_PATH=a; make": false, "export KEYCHAIN_PATH=a": false,
		"LD_PRELOAD=./x.so": false, "PATH=./x": false, "GIT_EXTERNAL_DIFF=./x": false,
		`KEYCHAIN_PATH=a make`: false,
	} {
		if an := AnalyzeCommand(command, nil); (len(an.Gaps) == 0) != want {
			t.Errorf("%s: gaps %v", command, an.Gaps)
		}
	}
}

// git reads no flag behind the first operand of `git config`, so that a value is none, whatever it says.
func TestSettingsValue(t *testing.T) {
	for command, want := range map[string]bool{
		`git config --global user.email "$(git log -1 --format=%ae)"`:  true,
		`git config --global --add safe.directory "$GITHUB_WORKSPACE"`: true,
		`git config user.name x --edit`:                                true,
		`git config "$(cat x)" y`:                                      false,
		`git config alias.x "$(cat y)"`:                                false,
		`git config core.pager "$P"`:                                   false,
		`git config --global $K v`:                                     false,
		`CMAKE_VERSION="3.24.2" cmake --version`:                       true,
		`CMAKE_TOOLCHAIN_FILE=x cmake --version`:                       false,
	} {
		an := AnalyzeCommand(command, nil)
		if got := len(an.Gaps) == 0; got != want {
			t.Errorf("%s: seen as a whole %v, want %v\n%+v", command, got, want, an.Gaps)
		}
	}
}
