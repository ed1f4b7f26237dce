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
	return NewDecoder(reflect.TypeOf(v).Elem()).Decode(n, src, v)
}

// A Decoder reads values into a type whose fields it has looked up once. It is safe
// for concurrent use.
type Decoder struct{ structs map[reflect.Type]*Form }

// A Form is a struct's fields that have keys.
type Form struct {
	Known  []Field
	Fields []reflect.StructField
}

// Form returns the form of a struct that the type is made of, nil where it is none.
func (d *Decoder) Form(t reflect.Type) *Form { return d.structs[t] }

// Find returns which field has a key, or -1.
func (f *Form) Find(key string) int {
	for i := range f.Known {
		if f.Known[i].Name == key {
			return i
		}
	}
	return -1
}

// NewDecoder returns a decoder for values of a type.
func NewDecoder(t reflect.Type) *Decoder {
	d := &Decoder{map[reflect.Type]*Form{}}
	d.look(t)
	return d
}

// look finds the structs that a type is made of.
func (d *Decoder) look(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || d.structs[t] != nil || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return
	}
	f := new(Form)
	d.structs[t] = f
	for _, sf := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		f.Known = append(f.Known, Field{Name: name, Required: options == ""})
		f.Fields = append(f.Fields, sf)
		d.look(sf.Type)
	}
}

// Decode reads a value as [Node.Decode] does.
func (d *Decoder) Decode(n *Node, src []byte, v any) []Problem {
	r := reading{Decoder: d, src: src}
	r.value(place{}, n, reflect.ValueOf(v).Elem())
	return r.log.Problems()
}

// A reading is one use of a Decoder.
type reading struct {
	*Decoder
	src []byte
	log Log
}

// A place names a value for a problem: the key of a member, the number of an element of
// a list that has a name, or the whole.
type place struct {
	key  string
	elem int // from 1 up; zero: no element
}

func (p place) String() string {
	switch {
	case p.elem > 0:
		return fmt.Sprintf("element %d of %s", p.elem, p.key)
	case p.key == "":
		return "the value"
	}
	return quote(p.key)
}

// kinds are the kinds of value that Go's kinds are written as.
var kinds = [...]Kind{reflect.String: String, reflect.Bool: Bool, reflect.Int: Number, reflect.Slice: Array, reflect.Map: Object, reflect.Struct: Object}

func (d *reading) value(at place, n *Node, v reflect.Value) {
	raw, isRaw := v.Addr().Interface().(*json.RawMessage)
	text, isText := v.Addr().Interface().(encoding.TextUnmarshaler)
	want := String
	switch {
	case isRaw:
		*raw = slices.Clone(n.Source(d.src))
		return
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(at, n, v.Elem())
		return
	case !isText:
		want = kinds[v.Kind()]
	}
	if n.Kind != want {
		d.log.Add(*n.Want(at.String(), want))
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
			err = fmt.Errorf("%s should be a whole number from zero up", strings.Trim(at.String(), `"`))
		}
		v.SetInt(int64(i))
	case want == Array:
		v.Set(reflect.MakeSlice(v.Type(), len(n.Elems), len(n.Elems)))
		list := strings.Trim(at.String(), `"`)
		for i, e := range n.Elems {
			d.value(place{list, i + 1}, e, v.Index(i))
		}
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Members)))
		for _, m := range n.Members {
			elem := reflect.New(v.Type().Elem()).Elem()
			d.value(place{key: m.Key}, m.Value, elem)
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
func (d *reading) object(n *Node, v reflect.Value) {
	form := d.structs[v.Type()]
	for i := range form.Fields {
		f := &form.Fields[i]
		m := n.Get(form.Known[i].Name)
		if m == nil || m.Kind == Null && !form.Known[i].Required && f.Type != reflect.TypeFor[json.RawMessage]() {
			continue
		}
		d.value(place{key: form.Known[i].Name}, m, v.FieldByIndex(f.Index))
	}
	for _, p := range n.Check(form.Known...) {
		d.log.Add(p)
	}
}
