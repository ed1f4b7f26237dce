package effect_test

import (
	"testing"

	"github.com/obstat/obstat/effect"
)

// shapes is a file system of directories and files.
type shapes map[string]bool // true for a directory

func (s shapes) Home(string) (string, bool)     { return "/h", true }
func (s shapes) Readlink(string) (string, bool) { return "", false }
func (s shapes) IsDir(name string) bool         { return s[name] }
func (s shapes) IsFile(name string) bool        { dir, ok := s[name]; return ok && !dir }

// TestSteered: git in any directory that git takes for a repository of its own is steered by that one's files, and so
// are programs of which a file of the project chooses another version.
func TestSteered(t *testing.T) {
	fs := shapes{"/p": true, "/p/.git": true, "/p/src": true,
		"/p/ev": true, "/p/ev/HEAD": false, "/p/ev/objects": true, "/p/ev/refs": true,
		"/p/file": true, "/p/file/HEAD": false, "/p/file/objects": false, "/p/file/refs": false, // git wants them executable
		"/p/common": true, "/p/common/HEAD": false, "/p/common/commondir": false,
		"/p/sub": true, "/p/sub/.git": false,
		"/q": true, "/q/HEAD": false, "/q/objects": true, "/q/refs": true}
	for _, tt := range []struct {
		root, command string
		want          bool
	}{
		{"/p", "git status", false},
		{"/p", "cd src && git log -1", false},
		{"/p", "git -C src add .", false},
		{"/p", "cd ev; git status", true},
		{"/p", "cd ev; git add .", true},
		{"/p", "cd ev/refs; git commit -m x", true},
		{"/p", "pushd ev; git diff", true},
		{"/p", "(cd file; git status)", true},
		{"/p", "cd common && git branch", true},
		{"/p", "cd sub && git show", true},
		{"/p", "git -C ev stash", true},
		{"/p", "git --git-dir=ev log", true},
		{"/p", "cd /h/.cache/ev && git status", true},
		{"/p", "cd \"$X\" && git status", true},
		{"/q", "git status", true},
		{"/p", "yarn --version", true},
		{"/p", "cargo --version", true},
		{"/p", "cd src && go version", true},
		{"/p", "bazel version", true},
		{"/p", "ls -l", false},
		{"/p", "node --version", false},
	} {
		an := effect.AnalyzeCommand(tt.command, &effect.Options{Dir: tt.root, Roots: []string{tt.root}, FS: fs})
		if got := an.Steered(); got != tt.want {
			t.Errorf("%s in %s: %t", tt.command, tt.root, got)
		}
	}
}

func TestSecretVariable(t *testing.T) {
	for name, want := range map[string]bool{"GITHUB_TOKEN": true, "PGPASSWORD": true, "STRIPEKEY": true, "MYSQL_PWD": true,
		"NPM_CONFIG__AUTH": true, "SLACK_WEBHOOK_URL": true, "sentry_dsn": true, "SUPABASE_JWT": true, "SSH_AUTH_SOCK": true,
		"AUTHOR": false, "GIT_AUTHOR_NAME": false, "KEYMAP": false, "GIT_ASKPASS": false, "TOKENIZERS_PARALLELISM": false,
		"LD_LIBRARY_PATH": false, "PWD": false, "OLDPWD": false, "PYTHON_KEYRING_BACKEND": false} {
		if got := effect.SecretVariable(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
