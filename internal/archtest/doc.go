// Package archtest holds the house rules as tests: which package may import
// which, package docs, documented names, no hidden state, small files and
// functions, one place that can allow, no foreign types in the public surface,
// and documents that list things of the code.
//
// It has no code of its own to use; `go test ./internal/archtest` is its face.
// The tables of what is permitted, each exception with its reason, are in
// tables_test.go and nowhere else.
package archtest
