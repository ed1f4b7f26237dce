package effect

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed kb/fields.txt
var fieldsText string

// fieldClass is a kind of values that a field may hold, by its name.
type fieldClass uint8

const (
	commandField fieldClass = 1 << iota
	patchField
	pathNamed
	weakPath
	addressField
	dirField
)

// fieldClasses has the names of kb/fields.txt, and fieldTexts the words of names that hold only text.
var fieldClasses = sync.OnceValue(func() map[string]fieldClass {
	out := make(map[string]fieldClass, 128)
	for line := range strings.Lines(fieldsText) {
		kind, rest := cutField(line)
		class := slices.Index([]string{"command", "patch", "path", "weak", "address", "dir"}, kind)
		for name := range strings.FieldsSeq(rest) {
			if class >= 0 {
				out[name] |= 1 << class
			}
		}
	}
	return out
})

var fieldTexts = sync.OnceValue(func() []string {
	for line := range strings.Lines(fieldsText) {
		if kind, rest := cutField(line); kind == "text" {
			return strings.Fields(rest)
		}
	}
	return nil
})

// A Reading is an input that a call's input may be taken for. The tool `run_shell` is known to run its
// `command`, and the function behind that name may look at `cmd`: of `{"command": "git status", "cmd": "rm -rf ~"}`
// one reading is `{"command": "rm -rf ~"}`.
type Reading struct {
	Field string // where it stands in the call's input
	Input []byte
}

// maxReadings bounds how many readings are told apart.
const maxReadings = 24

// Readings returns the inputs that a call's input may be taken for besides the one that [Analyze] takes it for:
// none where each of command, path, address and directory stands in one field, which the tool is known to have.
// Of an input with too many readings one is returned that no tool takes.
func Readings(tool string, data []byte) []Reading {
	of := catalogued(tool)
	if of == nil {
		return nil
	}
	groups := of.groups
	if groups == nil || onePlain(of, groups, data) {
		return nil
	}
	var in input
	if in.decode(data) != nil {
		return nil // it is refused as it is
	}
	r := reader{tool: of, groups: groups, found: make([][]candidate, len(groups))}
	r.kept = map[string]any{}
	for i, key := range in.keys {
		if n := r.candidates(); r.field(key, key, in.values[i], 0) || r.candidates() > n {
			continue
		}
		r.kept[key] = in.values[i]
	}
	return r.readings()
}

func catalogued(tool string) *Tool {
	if of, ok := catalogue()[tool]; ok {
		return of
	}
	return folded()[strings.ToLower(tool)]
}

// A fieldGroup is fields of which a tool takes one.
type fieldGroup struct {
	class fieldClass
	names []string // that the tool is known to have; the first is written in readings
	also  bool     // it takes all of the names: from and to
}

// fieldGroups returns the groups of fields that matter to a tool; nil where none does.
func (t *Tool) fieldGroups() []fieldGroup {
	switch {
	case t.Shell():
		return []fieldGroup{{commandField, t.Command, false}, {dirField, t.Dir, false}}
	case t.Canonical == "patch":
		return []fieldGroup{{patchField, t.Command, false}}
	case t.Canonical == "fetch":
		return []fieldGroup{{addressField, t.URL, false}, {pathNamed | weakPath, t.Paths, true}}
	case len(t.Paths) > 0:
		return []fieldGroup{{pathNamed | weakPath, t.Paths, t.Canonical == "move"}}
	}
	return nil
}

// onePlain tells whether an input is one of the usual: an object with one field of each group at most, under a
// name that the tool is known to have. It looks at keys and the beginnings of values alone.
func onePlain(t *Tool, groups []fieldGroup, data []byte) bool {
	var n [2]int
	s := keyScan{data: data}
	for s.next() {
		if s.escaped || s.nested {
			return false
		}
		class, known := fieldClass(0), false
		for g := range groups {
			switch {
			case slices.Contains(groups[g].names, s.key):
				if s.key != "prompt" {
					n[g]++
				}
				continue
			case !s.text || s.value == "":
				continue
			case !known:
				class, known = classOf(s.key), true
			}
			if groups[g].may(t, class, s.key, s.value) {
				return false
			}
		}
	}
	return n[0] <= 1 && n[1] <= 1
}

// may tells whether a field of another name than the tool is known to have may be one of the group.
func (g *fieldGroup) may(t *Tool, class fieldClass, key, value string) bool {
	switch {
	case value == "" || slices.Contains(t.Names, key):
		return false
	case g.class&commandField != 0:
		return class&commandField != 0 && !shellName(value)
	case g.class&patchField != 0:
		return class&patchField != 0
	case g.class&dirField != 0:
		return class&dirField != 0
	case g.class&addressField != 0:
		return class&addressField != 0 || strings.Contains(value, "://") && !isText(key)
	}
	return mayBePath(class, key, value)
}

func mayBePath(class fieldClass, key, value string) bool {
	address := strings.Contains(value, "://") && !hasScheme(value, "file:")
	if address || len(value) > maxPattern || strings.IndexByte(value, '\n') >= 0 {
		return false
	}
	if class&pathNamed != 0 {
		return true
	}
	relative := strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../")
	looks := relative || value[0] == '/' || value[0] == '~' || hasScheme(value, "file:")
	if class&weakPath != 0 {
		return looks || strings.IndexByte(value, ' ') < 0
	}
	return (looks || holdsPath(key)) && !isText(key)
}

// holdsPath tells whether a name says that it is about a file: `dest_file`, `baseFolder`.
func holdsPath(key string) bool {
	var buf [64]byte
	name := fieldName(buf[:0], key)
	for _, part := range [...]string{"path", "file", "folder", "directory"} {
		if bytes.Contains(name, []byte(part)) {
			return true
		}
	}
	return false
}

// isText tells whether a name says that the field holds a text: `old_string`, `file_text`, `sessionId`.
func isText(key string) bool {
	var buf [64]byte
	name := string(fieldName(buf[:0], key))
	for _, word := range fieldTexts() {
		if strings.HasSuffix(name, word) || len(word) > 4 && strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// shellName tells whether a value names a shell to run commands in, as Codex has it: `"shell": "/bin/zsh"`.
func shellName(value string) bool {
	name := strings.TrimSuffix(value[strings.LastIndexAny(value, `/\`)+1:], ".exe")
	switch name {
	case "bash", "sh", "zsh", "fish", "dash", "ksh", "pwsh", "powershell", "cmd", "true", "false", "default", "auto":
		return true
	}
	return false
}

func classOf(key string) fieldClass {
	var buf [64]byte
	return fieldClasses()[string(fieldName(buf[:0], key))]
}

// fieldName returns a name in lower case and without separators.
func fieldName(buf []byte, key string) []byte {
	for i := 0; i < len(key) && len(buf) < cap(buf); i++ {
		switch c := key[i]; {
		case c == '_' || c == '-' || c == '.' || c == ' ':
		case c >= 'A' && c <= 'Z':
			buf = append(buf, c|0x20)
		default:
			buf = append(buf, c)
		}
	}
	return buf
}

// A candidate is a value that the tool may take.
type candidate struct {
	from  string // the field that has it
	name  string // the field that a reading has it in
	value any
	known bool // the tool is known to take it from there
}

// reader collects the candidates of each group.
type reader struct {
	tool   *Tool
	groups []fieldGroup
	found  [][]candidate
	kept   map[string]any
}

func (r *reader) candidates() (n int) {
	for _, of := range r.found {
		n += len(of)
	}
	return n
}

// field looks at a field, and into it: `{"options": {"cmd": "rm -rf ~"}}`. It tells whether a group has the field.
func (r *reader) field(key, from string, v any, depth int) (taken bool) {
	for g := range r.groups {
		of := &r.groups[g]
		own := depth == 0 && slices.Contains(of.names, key) && key != "prompt"
		if own && !isMap(v) && !(of.class&addressField != 0 && isList(v)) {
			name := key
			if of.class&(commandField|dirField) != 0 {
				name = of.names[0]
			}
			r.add(g, candidate{from, name, v, true})
			taken = true
			continue
		}
		taken = r.extra(g, key, from, v) || taken
	}
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range slices.Sorted(maps.Keys(v)) {
			if depth < maxNested {
				r.field(inner, from+"."+inner, v[inner], depth+1)
			}
		}
	case []any:
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && depth < maxNested {
				r.field(key, from, m, depth+1)
			}
		}
	}
	return taken
}

// isMap tells whether a value is an object or a list of objects.
func isMap(v any) bool {
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	_, ok := v.(map[string]any)
	return ok
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// extra takes a field of a name that the tool is not known to have.
func (r *reader) extra(g int, key, from string, v any) (taken bool) {
	of := &r.groups[g]
	values := []any{v}
	if list, ok := v.([]any); ok {
		values = list
		if of.class&commandField != 0 && len(list) > 1 && classOf(key)&commandField != 0 && words(list) {
			r.add(g, candidate{from, of.names[0], v, false})
			return true
		}
	}
	for _, v := range values {
		s, ok := v.(string)
		if ok && (slices.Contains(of.names, key) && strings.TrimSpace(s) != "" || of.may(r.tool, classOf(key), key, s)) {
			r.add(g, candidate{from, of.names[0], s, false})
			taken = true
		}
	}
	return taken
}

func words(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok })
}

// add notes a candidate that says something other than those before.
func (r *reader) add(g int, c candidate) {
	if s, ok := c.value.(string); c.value == nil || ok && strings.TrimSpace(s) == "" {
		return
	}
	text, _ := json.Marshal(c.value)
	for i := range r.found[g] {
		have := &r.found[g][i]
		if same, _ := json.Marshal(have.value); string(same) == string(text) && (have.known || !c.known) {
			return
		}
	}
	r.found[g] = append(r.found[g], c)
}

// readings returns an input for each choice of one candidate of each group.
func (r *reader) readings() (out []Reading) {
	plain := true
	product := 1
	for g := range r.groups {
		of := r.found[g]
		more := len(of) > 1 && !(r.groups[g].also && allKnown(of))
		plain = plain && !more && (len(of) == 0 || allKnown(of))
		product *= max(1, len(of))
	}
	switch {
	case plain:
		return nil
	case product > maxReadings:
		return []Reading{{Input: []byte("[]")}}
	}
	for i := range product {
		in, from := maps.Clone(r.kept), ""
		for g, of := range r.found {
			if len(of) == 0 {
				continue
			}
			c := &of[i%len(of)]
			i /= len(of)
			in[c.name] = c.value
			if g == 0 {
				from = c.from
			}
		}
		data, err := json.Marshal(in)
		if err != nil {
			data = []byte("[]")
		}
		out = append(out, Reading{from, data})
	}
	return out
}

func allKnown(of []candidate) bool {
	return !slices.ContainsFunc(of, func(c candidate) bool { return !c.known })
}
