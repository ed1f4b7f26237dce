package tree

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decode reads n, a value of the JSON text src, into the value that v points to, and
// reports everything that does not fit it. The json tags of a struct are the keys that an
// object may have; a field without omitempty has to be there. Null counts as not given,
// but not as an element of a list. A json.RawMessage takes any value as it is written.
func (n *Node) Decode(src []byte, v any) []Problem {
	d := decoder{src: src}
	d.value("the value", n, reflect.ValueOf(v).Elem())
	return d.log.Problems()
}

type decoder struct {
	src []byte
	log Log
}

// kinds are the kinds of value that Go's kinds are written as.
var kinds = [...]Kind{reflect.String: String, reflect.Bool: Bool, reflect.Int: Number, reflect.Slice: Array, reflect.Map: Object, reflect.Struct: Object}

func (d *decoder) value(name string, n *Node, v reflect.Value) {
	raw, isRaw := v.Addr().Interface().(*json.RawMessage)
	text, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	want := String
	switch {
	case isRaw:
		*raw = slices.Clone(n.Source(d.src))
		return
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(name, n, v.Elem())
		return
	case !isText:
		want = kinds[v.Kind()]
	}
	if p := n.Want(name, want); p != nil {
		d.log.Add(*p)
		return
	}
	var err error
	switch {
	case isText:
		err = text.UnmarshalText([]byte(n.Str))
	case want == String:
		v.SetString(n.Str)
	case want == Bool:
		v.SetBool(n.Bool)
	case want == Number:
		var i int
		if i, err = strconv.Atoi(n.Num); err != nil || i < 0 {
			err = fmt.Errorf("%s should be a whole number from zero up", strings.Trim(name, `"`))
		}
		v.SetInt(int64(i))
	case want == Array:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Elems), len(n.Elems)))
		for i, e := range n.Elems {
			d.value(fmt.Sprintf("element %d of %s", i+1, strings.Trim(name, `"`)), e, v.Index(i))
		}
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Members)))
		for _, m := range n.Members {
			elem := reflect.New(v.Type().Elem()).Elem()
			d.value(quote(m.Key), m.Value, elem)
			v.SetMapIndex(reflect.ValueOf(m.Key), elem)
		}
	default:
		d.object(n, v)
	}
	if err != nil {
		d.log.Add(Problem{Offset: n.Start, Code: CodeValue, Msg: err.Error()})
	}
}

// object reads an object into a struct.
func (d *decoder) object(n *Node, v reflect.Value) {
	var known []Field
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		known = append(known, Field{Name: name, Required: options == ""})
		m := n.Get(name)
		if m == nil || m.Kind == Null && options != "" && f.Type != reflect.TypeFor[json.RawMessage]() {
			continue
		}
		d.value(quote(name), m, v.FieldByIndex(f.Index))
	}
	for _, p := range n.Check(known...) {
		d.log.Add(p)
	}
}
