package obstat

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// A Call is one tool call that an agent wants to make: the tool, its input as
// the bytes that were sent, and who asks from where. Identity (User, Roles)
// comes from the host, never from the input. Decide reads Input anew each time,
// so a host may reuse the buffer for its next call.
type Call struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`

	// Subjects, where given, are matched instead of the texts that the dialect
	// would derive from Input; each is judged, and the strictest answer counts.
	Subjects []string `json:"subjects,omitempty"`
	// Mode overrides the Program's mode; "" leaves it.
	Mode Mode `json:"mode,omitempty"`

	Agent   string   `json:"agent,omitempty"`
	Session string   `json:"session,omitempty"`
	User    string   `json:"user,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Channel string   `json:"channel,omitempty"`
	Dir     string   `json:"dir,omitempty"`   // working directory
	Roots   []string `json:"roots,omitempty"` // workspace roots
	// Project is the directory that path rules start from, that of the policy which is
	// asked; see [Call.Anchor].
	Project string `json:"project,omitempty"`

	// Repeat counts the identical calls made in a row just before this one.
	Repeat int `json:"repeat,omitempty"`

	// Time is when the call was made, with the zone of whoever made it; zero is not known.
	Time time.Time `json:"time,omitzero"`
	// Branch is the branch that the project has checked out; "" is not known.
	Branch string `json:"branch,omitempty"`
	// After are the marks that earlier calls of the session got, see [Mark]: what this
	// session has done so far.
	After []string `json:"after,omitempty"`
	// Hint is the worst that the tool does by the word of its server, as MCP has it:
	// "read-only", "additive" or "destructive"; "" is not known. It counts only where a
	// policy believes that server.
	Hint string `json:"hint,omitempty"`
	// Circumstances are those that have no field here, by their names: `os`. See [Circumstance].
	Circumstances map[string]string `json:"circumstances,omitempty"`
}

// Digest returns the hash that binds an approval to this call: tool and input,
// byte for byte, and nothing else.
func (c *Call) Digest() [32]byte {
	h := sha256.New()
	var n [8]byte
	for _, part := range [][]byte{[]byte(c.Tool), c.Input} {
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return [32]byte(h.Sum(nil))
}

// DigestText returns the digest in hexadecimal.
func (c *Call) DigestText() string {
	d := c.Digest()
	return hex.EncodeToString(d[:])
}

// Anchor returns the directory that path rules start from: the policy's project, else the first
// root, else the working directory. The working directory itself only says where relative paths
// of the call lead: `secret/**` is about the project's directory of that name wherever the agent
// stands.
func (c *Call) Anchor() string {
	switch {
	case c.Project != "":
		return c.Project
	case len(c.Roots) > 0 && c.Roots[0] != "":
		return c.Roots[0]
	}
	return c.Dir
}

// Workspace returns the directories that the call's project is in: its roots, and the working
// directory if it lies in none of them.
func (c *Call) Workspace() []string {
	if c.Dir == "" || c.InRoots(c.Dir) {
		return c.Roots
	}
	return append(c.Roots[:len(c.Roots):len(c.Roots)], c.Dir)
}

// InRoots reports whether a directory lies in one of the roots.
func (c *Call) InRoots(dir string) bool {
	return slices.ContainsFunc(c.Roots, func(root string) bool { return paths.Inside(root, dir) })
}

// analyze returns the commands that the call would run and the files and hosts it would touch.
func (c *Call) analyze(world World) *effect.Analysis {
	return effect.Analyze(&effect.Request{Tool: c.Tool, Input: c.Input,
		Options: effect.Options{Dir: c.Dir, Roots: c.Workspace(), FS: world}})
}

// Text returns the call in short: its command, path or URL, else the first of the texts that
// it names to be matched, else "".
func (c *Call) Text() string {
	f := Facts{Call: c}
	for _, name := range effect.MainFields(c.Tool) {
		if text, ok := f.String(name); ok && text != "" {
			return text
		}
	}
	if len(c.Subjects) > 0 {
		return c.Subjects[0]
	}
	return ""
}
