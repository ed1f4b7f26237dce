package jsonl_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonl"
)

func readAll(t *testing.T, r io.Reader) (lines []string, numbers []int, long int) {
	t.Helper()
	jr := jsonl.NewReader(r)
	for {
		line, err := jr.Next()
		switch {
		case err == io.EOF:
			return lines, numbers, long
		case errors.Is(err, jsonl.ErrTooLong):
			long++
			continue
		case err != nil:
			t.Fatal(err)
		}
		lines, numbers = append(lines, string(line)), append(numbers, jr.Line())
	}
}

func TestLines(t *testing.T) {
	const text = "one\n\n  \t\ntwo\r\nthree"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(text))
	z.Close()
	for name, r := range map[string]io.Reader{"plain": strings.NewReader(text), "gzip": &zipped, "by byte": iotestOneByte{strings.NewReader(text)}} {
		lines, numbers, _ := readAll(t, r)
		if strings.Join(lines, "|") != "one|two|three" || numbers[1] != 4 || numbers[2] != 5 {
			t.Errorf("%s: %q at %v", name, lines, numbers)
		}
	}
	for _, empty := range []string{"", "\n", "\n\n\r\n"} {
		if lines, _, _ := readAll(t, strings.NewReader(empty)); lines != nil {
			t.Errorf("%q: %q", empty, lines)
		}
	}
}

// iotestOneByte hands out one byte at a time, as a slow pipe does.
type iotestOneByte struct{ r io.Reader }

func (r iotestOneByte) Read(p []byte) (int, error) { return r.r.Read(p[:min(1, len(p))]) }

// TestLongLines: a line of the limit is read, one byte more is refused, and the
// line after it is read as if nothing had happened.
func TestLongLines(t *testing.T) {
	fits, over := strings.Repeat("a", jsonl.MaxLine), strings.Repeat("b", jsonl.MaxLine+1)
	lines, numbers, long := readAll(t, strings.NewReader(fits+"\r\n"+over+"\n"+over+over+"\nlast\n"))
	if long != 2 || len(lines) != 2 || lines[0] != fits || lines[1] != "last" || numbers[1] != 4 {
		t.Errorf("%d long, %d lines at %v", long, len(lines), numbers)
	}
}

func TestBrokenGzip(t *testing.T) {
	for _, text := range []string{"\x1f\x8b", "\x1f\x8bnot gzip at all", "\x1f", "\x1fx\n"} {
		r := jsonl.NewReader(strings.NewReader(text))
		_, err := r.Next()
		if strings.HasPrefix(text, "\x1f\x8b") && (err == nil || err == io.EOF) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\nb"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := jsonl.NewReader(bytes.NewReader(data))
		for range len(data) + 2 {
			if _, err := r.Next(); err != nil && !errors.Is(err, jsonl.ErrTooLong) {
				return
			}
		}
		if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			t.Error("more lines than bytes")
		}
	})
}
