// Package jsonltest reads recorded answers, one JSON text a line, for tests.
package jsonltest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonl"
)

// Lines calls f with each line of a file, gzipped or not, and its number.
func Lines(t testing.TB, name string, f func(n int, line []byte)) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := jsonl.NewReader(file)
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f(r.Line(), line)
	}
}

// All returns the decoded lines of a file.
func All[T any](t testing.TB, name string) []T {
	t.Helper()
	var out []T
	Lines(t, name, func(n int, line []byte) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		out = append(out, v)
	})
	return out
}
