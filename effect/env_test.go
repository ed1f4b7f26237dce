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
