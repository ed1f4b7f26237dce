package native

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Schema returns a JSON Schema of obstat.yaml, for editors that complete and check keys. It is made of
// the tables that files are read by; the sentences are checked when a file is loaded.
func Schema() ([]byte, error) {
	sentence := jsonx.Object{{Key: "type", Value: "string"},
		{Key: "pattern", Value: `^\s*(` + strings.Join(verbs[:], "|") + `)(\s|,|$)`},
		{Key: "description", Value: "VERB TARGET, TARGET except TARGET: read workspace except secrets"}}
	rule := object(ruleFields, map[string]any{"rule": sentence, "when": object(whenFields(), nil),
		"examples": jsonx.Object{{Key: "type", Value: "array"},
			{Key: "items", Value: jsonx.Object{{Key: "anyOf",
				Value: []any{jsonx.Object{{Key: "type", Value: "string"}}, object(exampleFields, nil)}}}}}})
	list := jsonx.Object{{Key: "type", Value: []any{"array", "null"}},
		{Key: "items", Value: jsonx.Object{{Key: "anyOf", Value: []any{sentence, rule}}}}}
	texts := jsonx.Object{{Key: "type", Value: "array"},
		{Key: "items", Value: jsonx.Object{{Key: "type", Value: "string"}}}}
	words := jsonx.Object{{Key: "type", Value: "string"}, {Key: "pattern", Value: "^(code|always|off)$"}}
	confine := jsonx.Object{{Key: "anyOf", Value: []any{words, object(confineFields, map[string]any{"run": words})}},
		{Key: "description", Value: confineHint}}
	undo := jsonx.Object{{Key: "anyOf", Value: []any{jsonx.Object{{Key: "const", Value: "off"}}, object(undoFields, nil)}},
		{Key: "description", Value: undoHint}}
	limits := jsonx.Object{{Key: "type", Value: []any{"array", "null"}}, {Key: "description", Value: limitHint},
		{Key: "items", Value: jsonx.Object{{Key: "type", Value: "string"},
			{Key: "pattern", Value: `^[1-9][0-9]* .*(per (session|day)|in a row)`}}}}
	root := object(fileFields, map[string]any{
		obstat.ListLimit: limits,
		"undo":           undo,
		"confine":        confine,
		"version":        jsonx.Object{{Key: "const", Value: 1}},
		"otherwise":      jsonx.Object{{Key: "type", Value: "string"}, {Key: "pattern", Value: "^(ask|deny)$"}},
		"allow":          list, "ask": list, "deny": list,
		"places": jsonx.Object{{Key: "type", Value: "object"}, {Key: "additionalProperties", Value: texts}},
	})
	head := jsonx.Object{{Key: "$schema", Value: "https://json-schema.org/draft/2020-12/schema"},
		{Key: "title", Value: "obstat.yaml: what an agent may do"}}
	return jsonx.Marshal(append(head, root...))
}

// object is the schema of an object with these keys and no others; special are those of keys that are
// more than their kinds.
func object(fields []tree.Field, special map[string]any) jsonx.Object {
	var props jsonx.Object
	var required []any
	for _, f := range fields {
		value := special[f.Name]
		if value == nil {
			value = plainSchema(f)
		}
		if props = append(props, jsonx.Field{Key: f.Name, Value: value}); f.Required {
			required = append(required, f.Name)
		}
	}
	out := jsonx.Object{{Key: "type", Value: "object"}, {Key: "additionalProperties", Value: false},
		{Key: "properties", Value: props}}
	if required != nil {
		out = append(out, jsonx.Field{Key: "required", Value: required})
	}
	return out
}

// plainSchema is the schema of a key's kinds, with the hint that a mistake there gets.
func plainSchema(f tree.Field) jsonx.Object {
	names := map[tree.Kind]string{tree.String: "string", tree.Array: "array", tree.Object: "object",
		tree.Number: "number", tree.Bool: "boolean", tree.Null: "null"}
	var types []any
	for _, k := range f.Kinds {
		types = append(types, names[k])
	}
	out := jsonx.Object{{Key: "type", Value: types}}
	if len(types) == 2 { // a text or a list of them
		out = append(out, jsonx.Field{Key: "items", Value: jsonx.Object{{Key: "type", Value: "string"}}})
	}
	if hint := hintFor(`"` + f.Name + `"`); hint != "" {
		out = append(out, jsonx.Field{Key: "description", Value: hint})
	}
	return out
}
