// Command bench compares obstat's decisions with other engines on the same
// rules and calls, in one process, engines taking turns. It prints the tables
// of docs/performance.md. It is a module of its own so that the peers'
// dependencies stay out of obstat's.
package main
