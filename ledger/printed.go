package ledger

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Printed returns a tool's output without its secrets, and a list of them; nil where it has none, and the output is
// to be left as it is. An output that is JSON stays JSON of the same shape. It is stricter with names than
// [Masker.Input] is: most of what tools print is source, where `password = self.password` names a secret and holds
// none.
func (m *Masker) Printed(raw []byte) ([]byte, []Masked) {
	p := &printed{m: m, rules: builtin()}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		if out := p.text(string(raw)); len(p.found) > 0 {
			return []byte(out), p.found
		}
		return nil, nil
	}
	v = p.value(v, "", 0)
	if len(p.found) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil { // what was read can be written
		return []byte(`"` + Mask + `"`), p.found
	}
	return bytes.TrimSpace(b.Bytes()), p.found
}

// printed masks one output.
type printed struct {
	m     *Masker
	rules *secretRules
	path  string
	found []Masked
}

// value masks the strings of a JSON value; name is the key that it stands at.
func (p *printed) value(v any, name string, depth int) any {
	at := p.path
	switch v := v.(type) {
	case string:
		if depth > maxWalk {
			p.note(v, "too deep")
			return Mask
		}
		if blob(name, v) {
			return v
		}
		if st := p.rules.name(name); name != "" && st != innocent && believable(v) && (st == strong || random(v)) {
			p.note(v, "value of "+name)
			return Mask
		}
		return p.text(v)
	case []any:
		for i := range v {
			v[i] = p.value(v[i], name, depth+1)
		}
	case map[string]any:
		for key := range v {
			p.path = at + "/" + key
			v[key] = p.value(v[key], key, depth+1)
		}
		p.path = at
	}
	return v
}

// blob tells an image or another file in base64, which a model does not read as text:
// `{"type":"image","data":"iVBO…"}`.
func blob(name, v string) bool {
	const short = 512
	if len(v) < short || name != "data" && name != "blob" {
		return false
	}
	return strings.IndexFunc(v, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("+/=-_", r))
	}) < 0
}

func (p *printed) note(value, why string) {
	if len(p.found) < maxMasked {
		p.found = append(p.found, Masked{Field: "output", Pointer: p.path, Why: why, Digest: p.m.digest([]byte(value))})
	}
}

// text masks the secrets of a text, also of one with many.
func (p *printed) text(s string) string {
	spans := p.rules.scanPrinted(s)
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		p.note(s[sp.from:sp.to], sp.why)
		b.WriteString(s[at:sp.from])
		b.WriteString(Mask)
		at = sp.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// scanPrinted returns the secrets of an output: tokens and keys known by their form, and values behind a telling name
// as far as they look like one.
func (r *secretRules) scanPrinted(s string) []span {
	sure := scanPEM(s, r.scanTokens(s, nil))
	sure = slices.DeleteFunc(sure, func(p span) bool { return sampled(s[p.from:p.to]) })
	named := scanBearer(s, scanURLs(s, nil))
	named = scanCommands(s, r.scanFlags(s, r.scanAssignments(s, named)))
	named = slices.DeleteFunc(named, func(p span) bool {
		return p.from >= p.to || !believable(s[p.from:p.to]) && !envLine(s, p)
	})
	netrc := slices.DeleteFunc(scanNetrc(s, nil), func(p span) bool { return placeholder(s[p.from:p.to]) })
	out := slices.Concat(sure, named, netrc)
	slices.SortStableFunc(out, func(a, b span) int { return a.from - b.from })
	return merge(out)
}

// sampled tells a token of a document, `ghp_xxxxxxxxxxxxxxxxxxxx` or one of few different characters.
func sampled(v string) bool {
	kinds := map[byte]bool{}
	for i := 4; i < len(v); i++ {
		kinds[v[i]] = true
	}
	return len(kinds) < 6 || strings.Contains(strings.ToLower(v), "example")
}

// envLine tells whether a value is that of an environment's line, `DB_PASSWORD=hunter`: there every word is a value.
func envLine(s string, p span) bool {
	line := s[strings.LastIndexByte(s[:p.from], '\n')+1 : p.from]
	name, isLine := strings.CutSuffix(strings.TrimRight(line, `"'`), "=")
	name = strings.TrimPrefix(name, "export ")
	upper := name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
	v := strings.Trim(s[p.from:p.to], `"'`)
	return isLine && upper && len(v) >= 6 && !placeholder(v) && !strings.ContainsAny(v, "$(){}<>*")
}

// believable tells whether a value behind a telling name looks like a secret, and not like source: an expression, a
// name, a path, a version, a colour.
func believable(v string) bool {
	v = strings.Trim(v, `"'`)
	if len(v) < 6 || len(v) > 4096 || strings.ContainsAny(v, "(){}<>$ \t\n|`,") || placeholder(v) || refers(v) {
		return false
	}
	digits := countIn(v, "0123456789")
	lower, upper := countIn(v, "abcdefghijklmnopqrstuvwxyz"), countIn(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	switch {
	case lower+upper == 0:
		return false
	case digits == 0:
		return lower > 0 && upper > 0 && countIn(v, "!@#%^&+/=~:?") > 0
	case sourceWord(v):
		return !strings.Contains(v, ".") && (random(v) && digits > 2 || restless(v))
	}
	return true
}

// countIn returns how many bytes of v are in a set.
func countIn(v, set string) (n int) {
	for i := 0; i < len(v); i++ {
		if strings.IndexByte(set, v[i]) >= 0 {
			n++
		}
	}
	return n
}

// refers tells a value that leads to something else: a path, an address, a name with its scope, a digest, a colour.
func refers(v string) bool {
	for _, prefix := range []string{"/", ".", "~/", "&", "sha256:", "sha512"} {
		if strings.HasPrefix(v, prefix) {
			return true
		}
	}
	return strings.Contains(v, "://") || strings.Contains(v, "::") || v[0] == '#' && len(v) <= 9
}

// restless tells a word whose kinds of letters change too often for a name: `q7XmVWZFPy2JnA`, not `stringEndArchive64`.
func restless(v string) bool {
	kind := func(c byte) int {
		switch {
		case '0' <= c && c <= '9':
			return 1
		case 'A' <= c && c <= 'Z':
			return 2
		}
		return 3
	}
	changes := 0
	for i := 1; i < len(v); i++ {
		if kind(v[i]) != kind(v[i-1]) {
			changes++
		}
	}
	return len(v) >= 8 && changes*3 >= len(v)-1
}

// sourceWord tells a word of source: `sha256`, `person.Secret`, `api_key2`, `max-age`.
func sourceWord(v string) bool {
	for i := 0; i < len(v); i++ {
		if !alnum(v[i]) && strings.IndexByte("._-[]:", v[i]) < 0 {
			return false
		}
	}
	return v[0] < '0' || v[0] > '9'
}

// placeholders begin or are values that documents have in the place of a secret.
var placeholders = strings.Fields(`your my- xxx **** changeme change-me example none null true false undefined todo
	redacted placeholder dummy insert replace secret password token [masked]`)

func placeholder(v string) bool {
	v = strings.ToLower(v)
	return slices.ContainsFunc(placeholders, func(p string) bool {
		return v == p || strings.HasPrefix(v, p) && len(p) < 5 || strings.HasPrefix(v, p+"-") || strings.HasPrefix(v, p+"_")
	}) || strings.Contains(v, "xxxx") || strings.Contains(v, "example")
}
