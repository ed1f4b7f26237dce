// Package statedir says where obstat keeps what outlives a process: the store
// with ledger, requests and grants, and the spool beside it.
//
// It owns the names and nothing else: who makes these files says what is in
// them.
package statedir

import (
	"errors"
	"path/filepath"
)

// ErrNoHome is the error where nobody knows a home directory. One that depends on
// where the process runs is none: the ledger would be in the agent's project.
var ErrNoHome = errors.New("neither XDG_STATE_HOME nor HOME says where obstat's state is kept")

// Dir returns the directory; getenv reads the environment.
func Dir(getenv func(string) string) (string, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv(homeVariable)
		if !filepath.IsAbs(home) {
			return "", ErrNoHome
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "obstat"), nil
}

// Store returns the database file in a state directory.
func Store(dir string) string { return filepath.Join(dir, "obstat.db") }

// Grants returns the file beside a database that is there while something may
// be granted in it: who does not want to open the database looks for that.
func Grants(db string) string { return db + ".grants" }

// Ledger returns the ledger's file in a state directory.
func Ledger(dir string) string { return filepath.Join(dir, "obstat.ledger") }

// Pins returns the file that says where in the ledger the pins are.
func Pins(dir string) string { return filepath.Join(dir, "obstat.pins") }
