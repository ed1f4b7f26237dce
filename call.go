package obstat

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"unsafe"
)

// A Call is one tool call that an agent wants to make: the tool, its input as
// the bytes that were sent, and who asks from where. Identity (User, Roles)
// comes from the host, never from the input.
//
// What every decision reads stands first, so that it shares a cache line.
type Call struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input,omitempty"`

	read *readInput // by Read

	// Subjects, where given, are matched instead of what the dialect would
	// derive from Input; each is judged, and the strictest answer counts.
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

	// Repeat counts the identical calls made in a row just before this one.
	Repeat int `json:"repeat,omitempty"`
}

// A readInput is an input that was read ahead of deciding. It is never written
// to again, so calls may share it.
type readInput struct {
	data     *byte // where the input was, and how long: another input is read again
	size     int
	subjects []Subject  // the fields, and the input as a whole
	few      [3]Subject // where subjects are, if they are few
	fields   *inputFields
}

// Read reads the input once, ahead of deciding, for hosts that decide a call by
// more than one policy or more than once. It reports what Decide would deny the
// call for: an input that is not a JSON object, or whose keys stand twice.
func (c *Call) Read() error {
	r := &readInput{data: unsafe.SliceData(c.Input), size: len(c.Input), fields: new(inputFields)}
	if r.fields.read(c.Input); r.fields.err != nil {
		return r.fields.err
	}
	r.subjects = append(append(r.few[:0], r.fields.fields...), Subject{inputField, bytesAsString(c.Input)})
	c.read = r
	return nil
}

// fresh returns what was read of the input as it is now, or nil.
func (c *Call) fresh() *readInput {
	if r := c.read; r != nil && r.data == unsafe.SliceData(c.Input) && r.size == len(c.Input) {
		return r
	}
	return nil
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
