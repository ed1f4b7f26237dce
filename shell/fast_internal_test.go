package shell

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// sameFast checks that a text read by fast comes out as the parser reads it. It reports whether
// fast took the text.
func sameFast(t testing.TB, src string) bool {
	t.Helper()
	var none *Options
	o := none.withDefaults()
	if len(src)%2 == 0 {
		o.Vars = map[string]string{"HOME": "/home/me"}
	}
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
		"a 2>&1", "a >f", "a 2>/dev/null | b", "a>b", "a2>b", "a 2> b c", "a >& f", "a >&-", "a &>f b", "a < f > g", "a <f<g", "a >1>2", "a >b2>c", "a 2>&1>f", "2>f a",
		"a {} b", "a -I{} x{}y", "a {x}", "a {x,y}", "a {1..2}", "a {}>f", "a {x}>f", "{} a", "a }{", "a {{}}", "find . -exec rm {} \\;", "a \\( b \\)", "a\\ b c", "a b\\ c", "\\a b",
		"a 'b'c", "a b'c d'e\"f\"", "a 'b''c'", "a \"x\\\"y\"", "a \"\\a\\$\\\\\"", "a 'x\ny'", "a 'x$\\\ny'", "a \"b'c'd\"", "'a'b c", "a ~'b'", "a '*'*", "a \\*",
		"cd x && a", "cd /x/../y && a | b && c", "cd x && a; b", "cd x && a || b", "cd x; a", "cd x", "cd && a", "cd - && a", "cd -P x && a", "cd ~ && a", "cd ~/x && a", "cd 'a b' && c",
		"cd x y && a", "cd x >f && a", "cd * && a", "cd . && a", "cd x && cd y && a", "cd '' && a", "'cd' x && a", "cd ./x/ && a > f", "cd x && a &", "a && cd x && b", "cd x && a || b && c; d", "a {},", "a >0&>f", "a 'é' b", "a 'р' б", "'а' b", "a '\u202e'", "a \"\u200b x\"", "a '\xff'", "a 'ｒｍ' > '\u0430b'", "A=1 b", "A=1 B='x y' c d", "A= b", "A=1", "A=1; b", "a && A=1 b | C=2 d", "A+=1 b", "A=~/x b", "A=a:~ b", "A=* b", "A={} b", "A={x,y} b", "1A=2 b", "PS4=x b", "A=1 cd x && b", "A=1 if b", "A[1]=2 b", "A=b=c d", "A=1 >f b", ">f A=1 b", "A=1 B", "a A=1", "A=\\\"x\\\" b", "A=1 Get-Item x", "printf x", "printf '%s\\\\n' a | b", "printf -v x y", "printf -- x", "printf %n x", "printf '%5n' x", "printf 'a'b -v c", "printf", "printf %% n", "printf x -v y", "printf % %n", "printf x -v 'a[$(b)]'", "printf x '%n'", "cd x;", "cd 'é' && b", "a é",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) { sameFast(t, src) })
}

// TestFastCorpus: both ways agree on all recorded commands, and the fast one takes most of them.
func TestFastCorpus(t *testing.T) {
	f, err := os.Open("testdata/corpus.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	taken, all := 0, 0
	for lines := bufio.NewScanner(z); lines.Scan(); all++ {
		var src string
		if err := json.Unmarshal(lines.Bytes(), &src); err != nil {
			t.Fatal(err)
		}
		if sameFast(t, src) {
			taken++
		}
	}
	t.Logf("%d of %d texts are plain", taken, all)
	if taken*2 < all {
		t.Errorf("only %d of %d texts are read the fast way", taken, all)
	}
}

// TestFastTokens puts texts together from what the two readings could disagree on.
func TestFastTokens(t *testing.T) {
	tokens := rapid.SampledFrom([]string{
		"a", "b", " ", "  ", "\t", "'", "\"", "'x y'", "\"z\"", "&&", "||", "|", ";", "&", "~", "~/", "*", "?", "=", ":", "-", "@", "if", "cd",
		"ls", "time", "!", "#", "[", "]", "{", "}", "$", "\\", "\n", "(", ")", "<", ">", "2", "%", "^", "+", ",", ".", "/", "é", "\r", "then", "in", "else", "do",
		"{}", "{x}", " cd x && ", "cd ", "2>&1", ">&", ">>", "&>", " <", "\\;", "\\ ", "x'y'", "\"a\\\"b\"", "1", "A=", "B=1 ", "PS4=x ", "printf ", "%n", "-v ", "'é'", "\"\u202e\"", "'\xff'", "'а'",
	})
	rapid.Check(t, func(rt *rapid.T) {
		for range 50 {
			src := ""
			for _, s := range rapid.SliceOfN(tokens, 1, 9).Draw(rt, "tokens") {
				src += s
			}
			sameFast(t, src)
		}
	})
}
