// Package statedir names the files that outlive a process: the ledger, the
// database that indexes it and keeps requests and grants, and the key.
//
// It owns the names, and how a file there is replaced as a whole; the packages
// that make these files say what is in them.
package statedir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoHome is the error where the environment names no absolute home directory.
// A relative one does not count: the ledger would be in the agent's project.
var ErrNoHome = errors.New("neither XDG_STATE_HOME nor HOME says where obstat's state is kept")

// Dir returns the directory; getenv reads the environment.
func Dir(getenv func(string) string) (string, error) {
	return base(getenv, "XDG_STATE_HOME", ".local", "state")
}

// base returns obstat's directory in the one that a variable names, or else in
// one below the home directory.
func base(getenv func(string) string, variable string, below ...string) (string, error) {
	dir := getenv(variable)
	if !filepath.IsAbs(dir) {
		home := getenv(homeVariable)
		if !filepath.IsAbs(home) {
			return "", ErrNoHome
		}
		dir = filepath.Join(append([]string{home}, below...)...)
	}
	return filepath.Join(dir, "obstat"), nil
}

// Store returns the database file in a state directory.
func Store(dir string) string { return filepath.Join(dir, "obstat.db") }

// LedgerOf returns the ledger file that belongs to a database file:
// `obstat.ledger` beside `obstat.db`.
func LedgerOf(db string) string { return strings.TrimSuffix(db, ".db") + ".ledger" }

// Heads returns where else the last known head of a database's ledger is kept:
// for the one in a state directory below the home directory, in the user's
// configuration directory, so that deleting or rewinding the state directory
// shows. The name is made of host and directory: configuration directories are
// copied from machine to machine, ledgers are not.
func Heads(db string, getenv func(string) string) []string {
	state, err := Dir(getenv)
	if err != nil || filepath.Clean(db) != Store(state) {
		return nil
	}
	if rel, err := filepath.Rel(getenv(homeVariable), state); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	config, err := base(getenv, "XDG_CONFIG_HOME", ".config")
	if err != nil {
		return nil
	}
	host, _ := os.Hostname() // without it the directory tells ledgers apart
	id := sha256.Sum256([]byte(host + "\x00" + state))
	return []string{filepath.Join(config, fmt.Sprintf("ledger-%x.head", id[:4]))}
}

// Grants returns the file that is beside a database while it may hold grants: a
// hook looks for it before it opens the database.
func Grants(db string) string { return db + ".grants" }

// Ledger returns the ledger file in a state directory.
func Ledger(dir string) string { return LedgerOf(Store(dir)) }

// Pins returns the file that says where in the ledger the pins are.
func Pins(dir string) string { return filepath.Join(dir, "obstat.pins") }

// Sessions returns the directory that keeps what sessions have done.
func Sessions(dir string) string { return filepath.Join(dir, "sessions") }

// Changes returns the directory that keeps what calls have changed.
func Changes(dir string) string { return filepath.Join(dir, "changes") }

// Layers has the layers of confined runs.
func Layers(dir string) string { return filepath.Join(dir, "layers") }

// Warned returns the file that remembers which warnings were shown.
func Warned(dir string) string { return filepath.Join(dir, "obstat.warned") }

// Replace writes a file as a whole, readable by its owner alone: a reader sees the old one or the new one.
func Replace(name string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
