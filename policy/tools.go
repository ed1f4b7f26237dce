package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Tools are the pins of a server's tools. They are records of the ledger like the pins
// of policies: the files of such a pin are the tools.
type Tools struct {
	Place  string // see [ToolPlace]
	Getenv func(string) string
	State  string // the state directory; "" is the usual one
}

// A PinTool is a tool that was accepted: the digest of its definition, and the
// definition itself (canonical JSON), nil where all of them were too large to keep.
type PinTool struct {
	Name, Digest string
	Text         []byte
}

// ToolPlace returns the place of the pin of a server's tools, as it is used in a
// directory: two projects may have different servers of one name.
func ToolPlace(server, dir string) string { return "mcp:" + server + "@" + filepath.Clean(dir) }

func (t *Tools) open() (*pinStore, error) {
	dir, err := stateDir(t.State, t.Getenv)
	if err != nil {
		return nil, err
	}
	s := newPinStore(dir, t.Getenv)
	_, err = s.open()
	return s, err
}

// Accepted returns the tools that were accepted, nil where none ever were. Where the
// ledger may lack a newer pin, that is an error.
func (t *Tools) Accepted() ([]PinTool, error) {
	s, err := t.open()
	if err != nil {
		return nil, err
	}
	defer s.close()
	pin, at := s.at(t.Place)
	if at.Doubt {
		return nil, fmt.Errorf("the ledger that holds it is not the one that was last known")
	}
	if pin == nil {
		return nil, nil
	}
	texts := map[string][]byte{}
	for i := range pin.Policies {
		raw, err := unpack(pin.Policies[i].Program)
		root, problems := jsonx.Parse(raw, jsonx.Options{NUL: true})
		if err != nil || tree.Fatal(problems) {
			continue // the digests count
		}
		for _, e := range root.Items() {
			if name := e.Get("name"); name.Is(tree.String) {
				texts[name.Str] = e.Source(raw)
			}
		}
	}
	out := make([]PinTool, 0, len(pin.Files))
	for _, f := range pin.Files {
		out = append(out, PinTool{f.Name, f.Digest, texts[f.Name]})
	}
	return out, nil
}

// Accept accepts tools in place of those that were accepted before.
func (t *Tools) Accept(ctx context.Context, tools []PinTool, by string) error {
	s, err := t.open()
	if err != nil {
		return err
	}
	defer s.close()
	_, at := s.at(t.Place)
	pin := &Pin{Place: t.Place}
	var texts []json.RawMessage
	for _, tool := range tools {
		pin.Files = append(pin.Files, PinFile{Name: tool.Name, Digest: tool.Digest})
		texts = append(texts, tool.Text)
	}
	slices.SortFunc(pin.Files, func(a, b PinFile) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	packed, err := deflate(text)
	if err != nil {
		return err
	}
	if len(packed) <= maxPinned {
		pin.Policies = []PinPolicy{{Dialect: "mcp", Program: packed}}
	}
	return s.put(ctx, pin, by, fmt.Sprintf("accepted %d tools of %s", len(tools), t.Place), at, func() error { return nil })
}
