package jsonx

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/obstat/obstat/internal/format/tree"
)

// maxInto bounds the documents that Into reads: a small one is far below the limits of Parse.
const maxInto = 64 << 10

// Into reads an object without problems into the value that v points to, as [Parse] and
// [tree.Decoder.Decode] do, and tells whether it could: it builds no tree and stops at
// the first thing that those two would have to look at, such as an unknown key or a null.
// They find the problem, if there is one; v is zero then.
//
// It is for the bodies of a server: of a decision's 100 µs of processor time, Into takes 4
// where the other two take 11.
func Into(src []byte, opt Options, as *tree.Decoder, v any) bool {
	r := &intoReader{as: as}
	r.s.open, r.s.keys = r.open[:0], r.keys[:0]
	to := reflect.ValueOf(v).Elem()
	if len(src) <= maxInto {
		r.s.Reset(string(src), opt)
		if r.s.Next() == ObjectStart && r.object(to) && r.s.Next() == End {
			return true
		}
	}
	to.SetZero()
	return false
}

type intoReader struct {
	s  Scanner // of its own: texts share its memory
	as *tree.Decoder
	// Most documents are small: their buffers come with the reader.
	open [4]container
	keys [16]seenKey
}

// object reads the members of an object into a struct.
func (r *intoReader) object(v reflect.Value) bool {
	form := r.as.Form(v.Type())
	if form == nil {
		return false
	}
	var seen uint64
	for k := r.s.Next(); k != ObjectEnd; k = r.s.Next() {
		if k != Key {
			return false
		}
		i := form.Find(r.s.Text)
		if i < 0 || i > 63 || !r.value(r.s.Next(), v.FieldByIndex(form.Fields[i].Index)) {
			return false
		}
		seen |= 1 << i
	}
	for i := range form.Known {
		if form.Known[i].Required && seen&(1<<i) == 0 {
			return false
		}
	}
	return true
}

// value reads the value whose first token is k.
func (r *intoReader) value(k Kind, v reflect.Value) bool {
	if k == Bad { // Start and End are those of no token then, as after the string `"\ud800"`
		return false
	}
	p := v.Addr().Interface()
	if raw, ok := p.(*json.RawMessage); ok {
		if (k == ObjectStart || k == ArrayStart) && r.s.Rest(k) == Bad {
			return false
		}
		*raw = json.RawMessage(r.s.src[r.s.Start:r.s.End])
		return true
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(k, v.Elem())
	}
	if text, ok := p.(encoding.TextUnmarshaler); ok {
		return k == Str && text.UnmarshalText([]byte(r.s.Text)) == nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(r.s.Text)
		return k == Str
	case reflect.Bool:
		v.SetBool(k == True)
		return k == True || k == False
	case reflect.Int:
		n, err := strconv.Atoi(r.s.Text)
		v.SetInt(int64(n))
		return k == Num && err == nil && n >= 0
	case reflect.Slice:
		return k == ArrayStart && r.list(v)
	case reflect.Struct:
		return k == ObjectStart && r.object(v)
	}
	return false
}

// list reads the elements of a list.
func (r *intoReader) list(v reflect.Value) bool {
	v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	for k := r.s.Next(); k != ArrayEnd; k = r.s.Next() {
		elem := reflect.New(v.Type().Elem()).Elem()
		if !r.value(k, elem) {
			return false
		}
		v.Set(reflect.Append(v, elem))
	}
	return true
}
