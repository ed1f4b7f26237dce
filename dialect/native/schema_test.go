package native_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// valid tells whether a value fits a schema, by the keywords that ours has.
func valid(schema map[string]any, v any) error {
	if list, ok := schema["anyOf"].([]any); ok {
		if !slices.ContainsFunc(list, func(s any) bool { return valid(s.(map[string]any), v) == nil }) {
			return fmt.Errorf("%v fits none", v)
		}
	}
	if c, ok := schema["const"]; ok && c != v {
		return fmt.Errorf("%v is not %v", v, c)
	}
	kind := map[bool]string{}
	switch v.(type) {
	case string:
		kind[true] = "string"
	case float64:
		kind[true] = "number"
	case bool:
		kind[true] = "boolean"
	case nil:
		kind[true] = "null"
	case []any:
		kind[true] = "array"
	case map[string]any:
		kind[true] = "object"
	}
	switch t := schema["type"].(type) {
	case string:
		if t != kind[true] {
			return fmt.Errorf("%v is no %s", v, t)
		}
	case []any:
		if !slices.Contains(t, any(kind[true])) {
			return fmt.Errorf("%v is none of %v", v, t)
		}
	}
	switch v := v.(type) {
	case string:
		if p, ok := schema["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			return fmt.Errorf("%q does not match", v)
		}
	case []any:
		for _, e := range v {
			if items, ok := schema["items"].(map[string]any); ok {
				if err := valid(items, e); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		props, _ := schema["properties"].(map[string]any)
		for _, r := range asList(schema["required"]) {
			if _, ok := v[r.(string)]; !ok {
				return fmt.Errorf("%v is missing", r)
			}
		}
		for key, e := range v {
			sub, ok := props[key].(map[string]any)
			if !ok {
				if sub, ok = schema["additionalProperties"].(map[string]any); !ok && schema["additionalProperties"] == false {
					return fmt.Errorf("%s is not known", key)
				}
			}
			if err := valid(sub, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

// value turns a document into what JSON would have.
func value(t *testing.T, n *tree.Node) (v any) {
	t.Helper()
	text, err := jsonx.Marshal(n)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readSchema(t *testing.T) (schema map[string]any) {
	t.Helper()
	text, err := native.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestSchema: what the schema takes and refuses is what loading does, as far as keys, types and verbs go.
func TestSchema(t *testing.T) {
	schema := readSchema(t)
	full := "version: 1\notherwise: deny\nplaces: {gen: [out/**], secrets: ['*.k']}\nallow:\n  - read workspace\n  - {rule: run x, name: a, reason: r, when: {agent: codex, user: [a], role: r, channel: c, mode: m, branch: not main, time: 09:00-10:00, days: mon}, until: '2030-01-01', after: [read secrets], examples: [x, {tool: Bash, input: {command: x}}]}\nask:\n"
	for name, doc := range map[string]struct {
		text string
		want bool
	}{
		"example": {example, true}, "careful": {native.Preset("careful"), true}, "balanced": {native.Preset("balanced"), true}, "trusting": {native.Preset("trusting"), true}, "unattended": {native.Preset("unattended"), true}, "everything": {full, true},
		"no version": {"allow: []\n", false}, "version": {"version: 2\n", false}, "key": {"version: 1\nalow: []\n", false}, "list": {"version: 1\nallow: read x\n", false},
		"verb": {"version: 1\nallow: [raed x]\n", false}, "rule key": {"version: 1\nallow: [{rule: read x, resaon: y}]\n", false}, "no rule": {"version: 1\nallow: [{reason: y}]\n", false},
		"when": {"version: 1\nallow: [{rule: read x, when: {agnt: y}}]\n", false}, "when type": {"version: 1\nallow: [{rule: read x, when: {agent: 5}}]\n", false}, "place": {"version: 1\nplaces: {a: [5]}\n", false}, "otherwise": {"version: 1\notherwise: allow\n", false},
		"example type": {"version: 1\nallow: [{rule: read x, examples: [5]}]\n", false}, "number": {"version: 1\nallow: [5]\n", false}, "until": {"version: 1\nallow: [{rule: read x, until: 5}]\n", false},
	} {
		root, problems := textedit.YAML.Parse([]byte(doc.text))
		if tree.Fatal(problems) {
			t.Fatal(problems)
		}
		err := valid(schema, value(t, root))
		if (err == nil) != doc.want {
			t.Errorf("%s: the schema says %v", name, err)
		}
		if es := problems2(doc.text); (es == nil) != doc.want {
			t.Errorf("%s: loading says %v", name, es)
		}
	}
}

func problems2(text string) error {
	if es := problems(text); len(es) > 0 {
		return es
	}
	return nil
}

// TestSchemaText: the whole schema is that of the golden file, each key with its hint.
func TestSchemaText(t *testing.T) {
	text, err := native.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", " "); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/schema.golden", out.Bytes())
}
