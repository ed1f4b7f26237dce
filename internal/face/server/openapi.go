package server

import (
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/client"
)

// serveOpenAPI writes the document of the API, which is made from the routes and
// the types of their handlers.
func (s *Server) serveOpenAPI(w http.ResponseWriter, _ *http.Request, _ *caller) {
	s.writeJSON(w, http.StatusOK, document(s.routes))
}

// object is a JSON object.
type object = map[string]any

// document makes the OpenAPI document of routes.
func document(routes []route) object {
	g := &schemas{named: object{}, bounds: memberBounds(), bodies: bodies(), parameters: parameters()}
	for i := range routes { // first, so that a type of both directions is as strict as it is read
		if routes[i].in != reflect.TypeFor[none]() {
			g.read, g.strict = true, routes[i].strict
			g.of(routes[i].in)
		}
	}
	g.read = false
	paths := object{}
	for i := range routes {
		rt := &routes[i]
		item, ok := paths[rt.path].(object)
		if !ok {
			item = object{}
			paths[rt.path] = item
		}
		item[strings.ToLower(rt.method)] = g.operation(rt)
	}
	return object{"openapi": "3.0.3",
		"info": object{"title": "obstat", "version": client.API,
			"description": "The permission gate for agents' tool calls: allow, ask or deny."},
		"paths": paths,
		"components": object{"schemas": g.named, "securitySchemes": object{"token": object{"type": "http",
			"scheme": "bearer"}}}}
}

// operation describes a route.
func (g *schemas) operation(rt *route) object {
	out := object{"summary": rt.summary, "operationId": operationID(rt), "tags": []string{audience(rt.who)}}
	if rt.who&anybody == 0 {
		out["security"] = []object{{"token": []string{}}}
	}
	var params []object
	for _, part := range strings.Split(rt.path, "/") {
		if strings.HasPrefix(part, "{") {
			name := strings.Trim(part, "{}")
			params = append(params, object{"name": name, "in": "path", "required": true, "schema": g.parameter("", name)})
		}
	}
	for _, name := range rt.query {
		one := object{"name": name, "in": "query", "schema": g.parameter(rt.path, name)}
		if slices.Contains(required, name) {
			one["required"] = true
		} else {
			one["allowEmptyValue"] = true
		}
		params = append(params, one)
	}
	if params != nil {
		out["parameters"] = params
	}
	if rt.in != reflect.TypeFor[none]() {
		out["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": g.body(rt)}}}
	}
	responses := object{"default": object{"description": "what went wrong", "content": g.wrong(rt)}}
	status, said := rt.status, object{"description": "the answer"}
	switch {
	case rt.kind == "application/json":
		said["content"] = object{rt.kind: object{"schema": object{"type": "object"}}}
	case rt.kind == eventStream: // readers differ in how they show the events: as a text, or each as an object
		said["content"] = object{rt.kind: object{"schema": object{"description": "server-sent events"}}}
	case rt.kind != "":
		said["content"] = object{rt.kind: object{"schema": object{"type": "string"}}}
	case rt.out == reflect.TypeFor[none]():
		status, said = http.StatusNoContent, object{"description": "done"}
	default:
		said["content"] = object{"application/json": object{"schema": g.of(rt.out)}}
	}
	responses[strconv.Itoa(cmp.Or(status, http.StatusOK))] = said
	out["responses"] = responses
	return out
}

// body returns the schema of a route's body.
func (g *schemas) body(rt *route) object {
	more, ok := g.bodies[rt.path].(object)
	if !ok {
		return g.of(rt.in)
	}
	return object{"allOf": []object{g.of(rt.in), more}}
}

// parameter returns the schema of a parameter in the query or path of a route.
func (g *schemas) parameter(path, name string) object {
	if schema := g.parameters[path+" "+name]; schema != nil {
		return schema
	}
	if schema := g.parameters[name]; schema != nil {
		return schema
	}
	return object{"type": "string"}
}

// wrong describes the body of an error: a problem, a text, or an object of opencode's.
func (g *schemas) wrong(rt *route) object {
	if rt.wrong != "" {
		return object{rt.wrong: object{"schema": object{"type": "string"}}}
	}
	out := object{"application/problem+json": object{"schema": g.of(reflect.TypeFor[client.Problem]())}}
	if rt.tagged {
		out["application/json"] = object{"schema": object{"type": "object", "required": []string{"name", "message"}}}
	}
	return out
}

func audience(w who) string {
	switch {
	case w&anybody != 0:
		return "anybody"
	case w&agents != 0 && w&people != 0:
		return "agents and people"
	case w&agents != 0:
		return "agents"
	case w&admins != 0:
		return "administrators"
	}
	return "people"
}

// operationID names an operation: POST /v1/requests/{id}/answer is
// postRequestsIdAnswer.
func operationID(rt *route) string {
	out := strings.ToLower(rt.method)
	for _, part := range strings.FieldsFunc(rt.path, func(c rune) bool { return strings.ContainsRune("/{}.-_", c) }) {
		if part != "v1" {
			out += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return out
}

// schemas makes the schemas of types.
type schemas struct {
	named        object
	bounds       map[string]object
	bodies       object
	parameters   map[string]object
	read, strict bool // the types are of bodies that are read, and without members that they do not have
}

// of returns the schema of a type; that of a struct with a name is a reference.
func (g *schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return object{"description": "any JSON", "nullable": true}
	case t.Kind() == reflect.Pointer:
		return g.of(t.Elem())
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		return object{"description": "any JSON"}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint8:
		if g.read {
			return object{"type": "integer", "minimum": 0, "maximum": math.MaxInt}
		}
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": g.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Struct:
		return g.structure(t)
	case reflect.Interface:
		return object{"description": "any JSON", "nullable": true}
	}
	return object{}
}

func (g *schemas) structure(t reflect.Type) object {
	if t.Name() == "" {
		return g.shape(t)
	}
	name := schemaName(t)
	ref := object{"$ref": "#/components/schemas/" + name}
	if _, done := g.named[name]; done {
		return ref
	}
	g.named[name] = object{} // types may hold themselves
	g.named[name] = g.shape(t)
	return ref
}

// shape is the schema of a struct itself.
func (g *schemas) shape(t reflect.Type) object {
	props, required := object{}, []string{}
	g.fields(t, props, &required, true)
	schema := object{"type": "object", "properties": props}
	if g.read && g.strict {
		schema["additionalProperties"] = false
	}
	if len(required) > 0 {
		slices.Sort(required)
		schema["required"] = required
	}
	return schema
}

// fields adds the fields of a struct. Those of a pointer that is embedded may all
// be missing.
func (g *schemas) fields(t reflect.Type, props object, required *[]string, must bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer:
			g.fields(f.Type.Elem(), props, required, false)
			continue
		case f.Anonymous && name == "":
			g.fields(f.Type, props, required, must)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		if options == "" && must {
			*required = append(*required, name)
		}
		props[name] = g.member(t, f.Type, name, options != "")
	}
}

// member returns the schema of a field. Where a body is read, null counts as missing; where one is written, a
// list that has to be there may be null.
func (g *schemas) member(of, t reflect.Type, name string, optional bool) object {
	schema, more := g.of(t), object{}
	list := t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	if g.read && optional || !g.read && !optional && list {
		more["nullable"] = true
	}
	maps.Copy(more, g.bounds[schemaName(of)+"."+name])
	if schema["$ref"] != nil && len(more) > 0 && g.read {
		more["allOf"] = []object{schema}
		return more
	}
	if schema["$ref"] == nil {
		maps.Copy(schema, more)
	}
	return schema
}

// schemaName names the schema of a type: `ObstatCall`, and `Answer` for one of package client.
func schemaName(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	return pkgName(t) + strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

// pkgName tells types of one name apart; those of package client go by their name
// alone.
func pkgName(t reflect.Type) string {
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	if pkg == "client" || pkg == "" {
		return ""
	}
	return strings.ToUpper(pkg[:1]) + pkg[1:]
}
