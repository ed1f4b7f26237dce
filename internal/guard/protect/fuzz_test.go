package protect

import (
	"testing"

	"github.com/obstat/obstat"
)

// FuzzCheck runs what Check recovers from: a panic is a failure here.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"rm obstat.json", "git checkout -- .", "tar -C", "git -C", "pkill '('", "kill -1", "cp * .", "find . -name", "OBSTAT_=", "obstat ", "\x00", "a\\b/c:",
		"find . -exec=x", "docker run -v :", "parallel ::::", "python3 -m zipfile -e", "aws s3 sync", "rm [", "cp -t", "mount", "ln", "python3 -c '<'", "rm a$x/..", "git restore :", "fd -x", "xargs -I <<< x"} {
		f.Add("Bash", s)
		f.Add("mcp__x__y", s)
		f.Add("mcp__git__git_checkout", s)
	}
	world := &obstat.Snapshot{HomeDir: "/home/ann"}
	f.Fuzz(func(t *testing.T, tool, text string) {
		g := &Guarded{Policies: []string{"/p/obstat.json"}}
		for _, in := range [][]byte{[]byte(text), []byte(`{"command":"` + text + `","path":"` + text + `"}`)} {
			g.check(&obstat.Call{Tool: tool, Input: in, Dir: "/p", Subjects: []string{text}}, world, nil)
			g.check(&obstat.Call{Tool: tool, Input: in}, world, nil)
		}
	})
}
