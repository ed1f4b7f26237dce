package effect

import "testing"

func TestEnvironment(t *testing.T) {
	for name, harm := range map[string]bool{
		"PATH": true, "LD_PRELOAD": true, "GIT_SSH_COMMAND": true, "GIT_OPTIONAL_LOCKS": false, "FOO": false, "CI": false, "LC_ALL": false, "NODE_OPTIONS": true, "NODE_ENV": false, "BASH_ENV": true, "IFS": true,
		"PROMPT_COMMAND": true, "PYTHONSTARTUP": true, "PYTHONUNBUFFERED": false, "EDITOR": true, "MY_EDITOR": true, "AWS_REGION": false, "AWS_ENDPOINT_URL": true, "https_proxy": true, "TAR_OPTIONS": true, "x": false, "i": false,
	} {
		r := builtin.variable(name)
		if got := r != nil && r.harm; got != harm {
			t.Errorf("%s: harm %v, want %v", name, got, harm)
		}
	}
}

// Variables that are only suspected by the end of their names do no harm where they are forgotten, or hold an exit code.
func TestUnset(t *testing.T) {
	for command, hides := range map[string]bool{
		"unset CARGO_TEST_OPTIONS": false, "unset A B_FLAGS": false, "unset -v X_OPTS": false, "DIFF_EXIT_CODE=$?": false,
		"SHELLCHECK_OPTS=-x shellcheck a.sh": false,
		"unset PATH":                         true, "unset HOME": true, "unset IFS; x": true, "unset $X": true, "unset HTTP_PROXY": true, "unset BASH_ENV": true,
		"CARGO_TEST_OPTIONS=x cargo test": true, "X_OPTS=-x y": true, "read X_OPTS": true,
	} {
		found := false
		for _, g := range AnalyzeCommand(command, testOptions()).Gaps {
			found = found || g.Kind == Environment || g.Kind == DynamicOperand
		}
		if found != hides {
			t.Errorf("%s: %v, want %v", command, found, hides)
		}
	}
}
