package hook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
)

// TestPatienceWithServer: an agent that has a prompt of its own is answered at once where
// obstat works alone, so little time is taken to look for grants. That limit must not hold for
// the people at a server: without --wait they would have five seconds to answer.
func TestPatienceWithServer(t *testing.T) {
	before := lookup
	lookup = time.Nanosecond
	t.Cleanup(func() { lookup = before })
	at := openServer(t, `{"permission": {"bash": "ask"}}`)
	dir, home := t.TempDir(), t.TempDir()
	at.joinedBy(home)
	out := at.approves(func() string {
		out, words, _ := hookIn(t, &Options{Agent: agent.ClaudeCode, Server: at.URL, Dir: dir, World: &obstat.Snapshot{HomeDir: home}},
			strings.NewReader(fmt.Sprintf(claudePayload, dir, "make")), nil)
		return out + words
	})
	if !strings.Contains(out, `"allow"`) || !strings.Contains(out, "approved by ann") {
		t.Error(out)
	}
}
