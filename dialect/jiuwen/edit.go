package jiuwen

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/pytext"
	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/internal/tree"
)

// A Store is a config.yaml that can be changed. Update hands the bytes to fn
// and keeps what it returns, unless that is an error; nobody else's change gets
// lost in between.
type Store interface {
	Read() ([]byte, error)
	Update(fn func(old []byte) ([]byte, error)) error
}

// A File is the Store of a config.yaml on the disk, given by its path: changes
// are atomic and made under a lock.
type File string

var _ Store = File("")

// Read returns the file's bytes; a missing file is an empty one.
func (f File) Read() ([]byte, error) {
	b, err := os.ReadFile(string(f))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Update changes the file.
func (f File) Update(fn func(old []byte) ([]byte, error)) error {
	return textedit.UpdateFile(string(f), fn)
}

const format = textedit.YAML

const permissions = "permissions"

// section returns the permissions of a config.yaml, nil if it has none.
func section(src []byte) (*tree.Node, error) {
	root, problems := format.Parse(src)
	if tree.Fatal(problems) {
		return nil, &textedit.BrokenError{Src: src, Problems: problems}
	}
	return root.Get(permissions), nil
}

// setKeys makes the object at path hold the members of want and no others. What
// is right already is not touched, so that its comments stay.
func setKeys(src []byte, want jsonx.Object, path ...any) ([]byte, error) {
	sec, err := section(src)
	if err != nil {
		return nil, err
	}
	have := sec.At(path[1:]...)
	if !have.Is(tree.Object) {
		return format.Set(src, want, path...)
	}
	for _, f := range want {
		if src, err = setKey(src, have.Get(f.Key), f.Value, append(slices.Clone(path), f.Key)...); err != nil {
			return nil, err
		}
	}
	for _, m := range have.Members {
		if _, keep := want.Get(m.Key); keep {
			continue
		}
		if src, err = format.Delete(src, append(slices.Clone(path), m.Key)...); err != nil {
			return nil, err
		}
	}
	return src, nil
}

func setKey(src []byte, have *tree.Node, value any, path ...any) ([]byte, error) {
	if have != nil && sameValue(have, value) {
		return src, nil
	}
	return format.Set(src, value, path...)
}

func sameValue(a, b any) bool {
	x, err := jsonx.Marshal(a)
	if err != nil {
		return false
	}
	y, err := jsonx.Marshal(b)
	return err == nil && string(x) == string(y)
}

// entryIndex returns the place of the first object of a list with that id, or -1.
func entryIndex(list *tree.Node, id string) int {
	if !list.Is(tree.Array) {
		return -1
	}
	return slices.IndexFunc(list.Elems, func(e *tree.Node) bool {
		n := e.Get("id")
		return n != nil && pytext.Str(n) == id
	})
}

// addEntry appends an entry to a list of the section. A list that is none in
// the file, which counts for nothing, is refused: replacing it is not our call.
func addEntry(src []byte, list string, entry jsonx.Object) ([]byte, error) {
	return format.Append(src, entry, permissions, list)
}

// freeID returns id, or id with the first number that makes it new.
func freeID(list *tree.Node, id string) string {
	out := id
	for n := 2; entryIndex(list, out) >= 0; n++ {
		out = fmt.Sprintf("%s_%d", id, n)
	}
	return out
}

// overrideID is the original's id for what a user approved.
func overrideID(tool, matchType, pattern string) string {
	words := strings.FieldsFunc("user_allow_"+tool+"_"+matchType+"_"+pattern, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	})
	slug := strings.ToLower(strings.Join(words, "_"))
	return slug[:min(len(slug), 120)]
}

// exactPattern writes a text so that it matches itself and nothing else, also
// where it holds what a pattern would read as more: approving `rm *.txt` is not
// approving `rm -rf /home a.txt`.
func exactPattern(text string) string {
	_, isExpr := expression(text)
	if !isExpr && !strings.ContainsAny(text, "*?[") && text == pytext.Strip(text) {
		return text
	}
	return `re:\A` + pytext.Escape(text) + `\Z`
}
