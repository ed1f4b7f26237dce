package shell

import (
	"reflect"
	"testing"
)

// sameFast checks that a text read by fast comes out as the parser reads it.
func sameFast(t *testing.T, src string) bool {
	t.Helper()
	var none *Options
	o := none.withDefaults()
	got := fast(src, &o)
	if got == nil {
		return false
	}
	want := slow(src, o)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\n fast %+v\n slow %+v", src, got, want)
	}
	return true
}

func FuzzFast(f *testing.F) {
	for _, s := range []string{
		"ls", " ls -la  /tmp\t", "a && b || c", "a | b | c && d; e;", "a 'b c' \"d e\"", "a * ?b ~/c ~ ~d ~'e'", "rm;rm",
		"a &", "a=b c", "if a", "'if' a", "a;;b", "a |& b", "a & & b", "a '' \"\"", "~/bin/x y", "* a", "a,b", "-x", "a ~*",
		"rm x;", "; rm", "a |", "a && ", "a 'b\nc'", "a \"b!c\"", "Get-Item x", "dir /s", "1>f ls", "a 2", "a^b", "a :~ b=~/c",
		"\"\" a", "'' a", "a'b'", "%x", "+", "a@b", "=a", "a =b", "foo=", "[ -f x ]", "time ls", "a;time b", "nohup cd x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) { sameFast(t, src) })
}
