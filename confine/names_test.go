package confine

import (
	"bytes"
	"net/netip"
	"testing"
)

// question makes a query as resolvers do.
func question(name string, kind byte) []byte {
	b := []byte{0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, label := range bytes.Split([]byte(name), []byte(".")) {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0, 0, kind, 0, 1)
}

func lookupTest(name string) (v4, v6 netip.Addr) {
	if name == "known.test" {
		return netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("fd00::1")
	}
	return v4, v6
}

func TestAnswerName(t *testing.T) {
	for _, tt := range []struct {
		query   []byte
		code    byte
		answers byte
		ends    []byte
	}{
		{question("known.test", typeA), 0, 1, []byte{198, 18, 0, 1}},
		{question("KNOWN.test", typeA), 0, 1, []byte{198, 18, 0, 1}},
		{question("known.test", typeAAAA), 0, 1, netip.MustParseAddr("fd00::1").AsSlice()},
		{question("known.test", 65), 0, 0, nil},
		{question("other.test", typeA), codeName, 0, nil},
		{append(question("known.test", typeA)[:20], 9), 0, 0, []byte("none")},
		{question("known.test", typeA)[:5], 0, 0, []byte("none")},
		{make([]byte, 12), 0, 0, []byte("none")},
	} {
		got := answerName(tt.query, lookupTest)
		if string(tt.ends) == "none" {
			if got != nil {
				t.Errorf("%x: answered %x", tt.query, got)
			}
			continue
		}
		if len(got) < 12 || got[3]&15 != tt.code || got[7] != tt.answers || !bytes.HasSuffix(got, tt.ends) || got[0] != 0x12 {
			t.Errorf("%x: answered %x", tt.query, got)
		}
	}
}

func FuzzAnswerName(f *testing.F) {
	f.Add(question("known.test", typeA))
	f.Add(question("a.b.c", 255))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, query []byte) {
		if got := answerName(query, lookupTest); len(got) > len(query)+30 {
			t.Errorf("%x: answered %x", query, got)
		}
	})
}

func TestHostPatterns(t *testing.T) {
	n := Network{Hosts: []Host{{"a.test", []int{443}}, {"*.b.test", []int{80}}, {"x.b.test", []int{81}}}}
	for name, want := range map[string]int{"a.test": 1, "b.test": 0, "y.b.test": 1, "x.b.test": 2, "xb.test": 0, "a.test.evil": 0, "za.test": 0, "": 0,
		"evil.test:443 http/1.1\r\nx: .b.test": 0, "a b.b.test": 0, "*.b.test": 0} {
		if got := n.match(name); len(got) != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
