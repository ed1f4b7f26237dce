package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/obstat/obstat"
)

// An agent with rules of its own may ask once more for a call that a person has approved a moment ago:
// Claude Code and Codex send PermissionRequest before their own prompt. The approval holds for that
// question, too, once: a file says so, which the second hook takes away.

// twice is how long after an approval the agent may ask again.
const twice = time.Minute

// approvedFile returns the file that says that a call of a session was approved, "" where there is no
// place for it.
func (t *turn) approvedFile(c *obstat.Call) string {
	if t.db == "" || c.Session == "" {
		return ""
	}
	d := c.Digest()
	sum := sha256.Sum256([]byte(t.event.Agent + "\x00" + c.Session + "\x00" + string(d[:])))
	return filepath.Join(filepath.Dir(t.db), "approved", hex.EncodeToString(sum[:16]))
}

// approved notes that a person has approved the call.
func (t *turn) approved(c *obstat.Call) {
	if name := t.approvedFile(c); name != "" && os.MkdirAll(filepath.Dir(name), 0o700) == nil {
		_ = os.WriteFile(name, nil, 0o600) // without it the agent asks once more
	}
}

// approvedBefore tells whether a person has approved the call for the event before, and uses that up.
func (t *turn) approvedBefore(c *obstat.Call) bool {
	name := t.approvedFile(c)
	if name == "" {
		return false
	}
	info, err := os.Lstat(name)
	return err == nil && os.Remove(name) == nil && time.Since(info.ModTime()) < twice
}
