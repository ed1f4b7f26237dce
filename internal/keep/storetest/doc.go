// Package storetest tests the contract that every store keeps: one suite, run
// against each engine. It holds tests only; an engine is added to engines_test.go.
package storetest
