// Package pgtest starts a PostgreSQL of its own for tests: as a user without
// rights, in a temporary directory, reached by a Unix socket.
//
// It owns the process. What is kept in it is the business of the test. It is there
// on Unix alone.
package pgtest
