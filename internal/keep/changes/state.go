package changes

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Name is a path. In JSON one that is no UTF-8 is `{"bytes": "…"}`, so that it comes back as it was.
type Name string

type rawName struct {
	Bytes string `json:"bytes"`
}

// MarshalJSON writes the name.
func (n Name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(rawName{base64.StdEncoding.EncodeToString([]byte(n))})
}

// UnmarshalJSON reads the name.
func (n *Name) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*n = Name(text)
		return nil
	}
	var raw rawName
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	bytes, err := base64.StdEncoding.DecodeString(raw.Bytes)
	*n = Name(bytes)
	return err
}

// A Kind is the kind of thing that a path leads to.
type Kind string

// The kinds. Other is a device, a pipe or a socket, which is not kept.
const (
	None  Kind = ""
	File  Kind = "file"
	Dir   Kind = "dir"
	Link  Kind = "link"
	Other Kind = "other"
)

// A State is a path at one moment; the zero State is that of a path with nothing there.
type State struct {
	Kind   Kind              `json:"kind,omitempty"`
	Mode   fs.FileMode       `json:"mode,omitempty"` // without the type; 0 for a link
	Size   int64             `json:"size,omitempty"`
	Digest string            `json:"digest,omitempty"` // of a file's contents, SHA-256
	Target Name              `json:"target,omitempty"` // of a link
	Attrs  map[string][]byte `json:"attrs,omitempty"`  // extended attributes of the user, and access lists
	Sparse bool              `json:"sparse,omitempty"`
	UID    int               `json:"uid"`
	GID    int               `json:"gid"`
	Inode  uint64            `json:"inode,omitempty"` // of a file; not compared
	Stamp  int64             `json:"stamp,omitempty"` // of a file's last change, see stampOf; not compared
}

// Shown returns a state without the fields that are not compared.
func (s State) Shown() State {
	s.Inode, s.Stamp = 0, 0
	return s
}

// Equal tells whether nothing differs that is put back.
func (s *State) Equal(o *State) bool {
	if s.Kind == None || o.Kind == None {
		return s.Kind == o.Kind
	}
	return s.Kind == o.Kind && s.sameContents(o) && s.sameRights(o)
}

// sameContents compares what a reader of the path sees.
func (s *State) sameContents(o *State) bool { return s.Digest == o.Digest && s.Target == o.Target }

// sameRights compares mode, owner and attributes.
func (s *State) sameRights(o *State) bool {
	return s.Mode == o.Mode && s.UID == o.UID && s.GID == o.GID &&
		maps.EqualFunc(s.Attrs, o.Attrs, slices.Equal[[]byte])
}

// An Entry is a path and its state.
type Entry struct {
	Path Name `json:"path"`
	State
}

// A tree is states by path.
type tree map[string]*State

func treeOf(list []Entry) tree {
	out := make(tree, len(list))
	for i := range list {
		out[string(list[i].Path)] = &list[i].State
	}
	return out
}

// at returns the state of a path, of which nothing is known where nothing was there.
func (t tree) at(path string) *State {
	if s := t[path]; s != nil {
		return s
	}
	return &State{}
}

func (t tree) list() []Entry {
	out := make([]Entry, 0, len(t))
	for _, p := range slices.SortedFunc(maps.Keys(t), byDepth) {
		if s := t[p]; s.Kind != None {
			out = append(out, Entry{Name(p), *s})
		}
	}
	return out
}

// byDepth orders paths so that a directory comes before the names in it.
func byDepth(a, b string) int {
	if n := strings.Count(a, "/") - strings.Count(b, "/"); n != 0 {
		return n
	}
	return strings.Compare(a, b)
}
