// Package pgtest starts a PostgreSQL of its own for tests: as a user without
// rights, in a temporary directory, reached by a Unix socket.
//
// It owns the process, and the tests its tables. It is there
// on Unix alone.
package pgtest
