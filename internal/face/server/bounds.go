package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Bounds of texts in bytes and of lists in entries. People read names and stores index them; an input
// is bounded by maxBody, and shown clipped.
const (
	maxName  = 256
	maxPath  = 4096
	maxList  = 100
	maxShown = 64 << 10 // of a subject, which is matched in place of the input
	maxWords = 4000     // of a person's words for an agent, and of a note
)

// overlong is the error of a text or list beyond its bound; path leads to it from the body, as in
// `calls[3].session`.
type overlong struct {
	path      []any
	size, max int
	of        string // bytes or entries
}

// Error says which field is too long: `call.session has 9216 bytes; 256 are taken`.
func (e *overlong) Error() string {
	var at strings.Builder
	for i, step := range e.path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&at, "[%d]", step)
		case string:
			if i > 0 {
				at.WriteByte('.')
			}
			at.WriteString(step)
		}
	}
	return fmt.Sprintf("%s has %d %s; %d are taken", at.String(), e.size, e.of, e.max)
}

// boundCall refuses a call with a name, path or list beyond its bound. It is a member of the body, as `call`, or an entry of
// one, as `calls[3]`; an index of -1 is no entry.
func boundCall(c *obstat.Call, member string, index int) error {
	for _, f := range [...]struct {
		name, text string
		max        int
	}{
		{"tool", c.Tool, maxName}, {"mode", string(c.Mode), maxName}, {"agent", c.Agent, maxName},
		{"session", c.Session, maxName}, {"user", c.User, maxName}, {"channel", c.Channel, maxName},
		{"branch", c.Branch, maxName}, {"hint", c.Hint, maxName}, {"dir", c.Dir, maxPath}, {"project", c.Project, maxPath},
	} {
		if len(f.text) > f.max {
			return &overlong{path: append(pathTo(member, index), f.name), size: len(f.text), max: f.max, of: "bytes"}
		}
	}
	for _, f := range [...]struct {
		name string
		list []string
		max  int
	}{
		{"roots", c.Roots, maxPath}, {"roles", c.Roles, maxName}, {"after", c.After, maxName},
		{"subjects", c.Subjects, maxShown},
	} {
		if long := boundList(f.list, f.max); long != nil {
			long.path = append(append(pathTo(member, index), f.name), long.path...)
			return long
		}
	}
	size, limit, of := len(c.Circumstances), maxList, "entries"
	for name, text := range c.Circumstances {
		if n := len(name) + len(text); n > maxPath {
			size, limit, of = n, maxPath, "bytes"
		}
	}
	if size > limit {
		return &overlong{path: append(pathTo(member, index), "circumstances"), size: size, max: limit, of: of}
	}
	return nil
}

// pathTo leads to a member of the body, or to an entry of it.
func pathTo(member string, index int) []any {
	if index < 0 {
		return []any{member}
	}
	return []any{member, index}
}

// boundList finds a list or an entry of it that is beyond its bound; nil: none is.
func boundList(list []string, limit int) *overlong {
	if len(list) > maxList {
		return &overlong{size: len(list), max: maxList, of: "entries"}
	}
	for i, text := range list {
		if len(text) > limit {
			return &overlong{path: []any{i}, size: len(text), max: limit, of: "bytes"}
		}
	}
	return nil
}

// boundAll checks the calls of a request for decisions, and its key.
func boundAll(in *client.DecisionRequest) error {
	if len(in.Key) > maxName {
		return &overlong{path: []any{"key"}, size: len(in.Key), max: maxName, of: "bytes"}
	}
	if in.Call != nil {
		return boundCall(in.Call, "call", -1)
	}
	for i := range in.Calls {
		if err := boundCall(&in.Calls[i], "calls", i); err != nil {
			return err
		}
	}
	return nil
}

// boundToken checks the names of a token, which pages and records repeat.
func boundToken(t *client.TokenRequest) error {
	for name, text := range map[string]string{"name": t.Name, "agent": t.Agent, "user": t.User, "dialect": t.Dialect} {
		if len(text) > maxName {
			return &overlong{path: []any{name}, size: len(text), max: maxName, of: "bytes"}
		}
	}
	if len(t.Workspace) > maxPath {
		return &overlong{path: []any{"workspace"}, size: len(t.Workspace), max: maxPath, of: "bytes"}
	}
	if long := boundList(t.Roles, maxName); long != nil {
		long.path = append([]any{"roles"}, long.path...)
		return long
	}
	return nil
}

// A bounded is a text of a body, where it stands and how long it may be.
type bounded struct {
	text string
	max  int
	path []any
}

// boundBody checks the texts of the other bodies that are kept, shown or written down; nil: it has none, or all are
// short enough.
func boundBody(body any) error {
	var all []bounded
	switch in := body.(type) {
	case *client.Claim:
		all = []bounded{{in.Digest, maxName, []any{"digest"}}, {in.Key, maxName, []any{"key"}}}
	case *client.Outcome:
		all = []bounded{{in.Key, maxName, []any{"key"}}} // its words are clipped: the call has run
	case *client.Answer:
		all = []bounded{{in.Words, maxWords, []any{"words"}}}
	case *client.GroupAnswer:
		all = append(texts("ids", in.IDs), bounded{in.Answer.Words, maxWords, []any{"answer", "words"}})
	case *client.Proofs:
		for i := range in.Proofs {
			all = append(all, bounded{in.Proofs[i].Agent, maxName, []any{"proofs", i, "agent"}})
		}
	case *client.Tools:
		all = append(texts("tools", in.Tools), bounded{string(in.Mode), maxName, []any{"mode"}})
	case *client.PolicyUpload:
		all = boundUpload(in)
	}
	for _, b := range all {
		if len(b.text) > b.max {
			return &overlong{path: b.path, size: len(b.text), max: b.max, of: "bytes"}
		}
	}
	return nil
}

// texts are the names of a list.
func texts(member string, list []string) (out []bounded) {
	for i, text := range list {
		out = append(out, bounded{text, maxName, []any{member, i}})
	}
	return out
}

// boundUpload lists the texts of a policy beside its files' own.
func boundUpload(in *client.PolicyUpload) []bounded {
	all := []bounded{{in.Note, maxWords, []any{"note"}}, {in.Dialect, maxName, []any{"dialect"}}}
	for i, f := range in.Files {
		all = append(all, bounded{f.Name, maxPath, []any{"files", i, "name"}},
			bounded{f.Layer, maxName, []any{"files", i, "layer"}})
	}
	for name, text := range in.Options {
		all = append(all, bounded{name + text, maxPath, []any{"options"}})
	}
	return all
}

// located turns an overlong into the problem that a client gets, with the position of the field in the body.
func located(err error, body []byte) error {
	long := new(overlong)
	if !errors.As(err, &long) {
		return err
	}
	p := newProblem(http.StatusBadRequest, "bad-request", "a part of the request is too long", long.Error())
	n, _ := jsonx.Parse(body, jsonx.Options{NoMark: true, NUL: true})
	if at := n.At(long.path...); at != nil {
		f := dialect.File{Name: "body", Data: body}
		p.Errors = f.Problems([]tree.Problem{{Offset: at.Start, Code: tree.CodeSize, Msg: long.Error()}})
	}
	return p
}
