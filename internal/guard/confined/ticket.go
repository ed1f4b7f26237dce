package confined

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// A Ticket lets one command run once, confined: it is bound to the command, the directory and the
// session of a call, and to the bounds that the gate made for it.
type Ticket struct {
	Command string      `json:"command"`
	Call    obstat.Call `json:"call"`
	Bounds  Bounds      `json:"bounds"`
	// Call's digest, for the ledger.
	Digest  string    `json:"digest"`
	Policy  string    `json:"policy"` // digest of the policy that decided
	Expires time.Time `json:"expires"`
	// Files, Dialect and Options are the policy that a person has named for the agent's hook, if one
	// has: it judges what the command has changed.
	Files   []string          `json:"files,omitempty"`
	Dialect string            `json:"dialect,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// PID and Started are of the agent's process that the call was made under; zero where that is not known.
	PID     int    `json:"pid,omitempty"`
	Started uint64 `json:"started,omitempty"`
	// Use is the agent's own name for the call, "" where it tells none.
	Use string `json:"use,omitempty"`
}

// unspent tells whether a ticket for a call of an agent's lies there still.
func unspent(state, agent, use string) bool {
	names, _ := filepath.Glob(filepath.Join(ticketDir(state), "*.json"))
	for _, name := range names {
		var t Ticket
		text, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(text, &t) == nil && t.Call.Agent == agent && t.Use == use {
			return true
		}
	}
	return false
}

// Lifetime is how long a ticket can be used: an agent may put the command to a person first.
const Lifetime = 15 * time.Minute

func ticketDir(state string) string { return filepath.Join(state, "tickets") }

// Issue keeps a ticket and returns its name, which is hard to guess.
func Issue(state string, t *Ticket) (string, error) {
	dir := ticketDir(state)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	sweep(dir)
	var id [16]byte
	rand.Read(id[:]) // never fails
	name := hex.EncodeToString(id[:])
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return name, statedir.Replace(TicketFile(state, name), text)
}

// TicketFile is the file of a ticket.
func TicketFile(state, name string) string { return filepath.Join(ticketDir(state), name+".json") }

// isTicket tells whether a text has the form of a ticket's name, and so leads to no other file.
func isTicket(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}

// sweep removes tickets that nobody can use any more.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 2*Lifetime {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// The reasons why a ticket is not taken.
var (
	ErrNoTicket = errors.New("there is no such ticket: it was used before, or is none of this user's")
	ErrExpired  = errors.New("the ticket was not used in time; make the call again")
	ErrChanged  = errors.New("the ticket is for another command, or for another directory; make the call again")
	ErrSession  = errors.New("the ticket is for a command of another agent's process; make the call again")
)

// Redeem takes a ticket, which is used up by that, whatever comes of it. command is the command as
// the agent runs it, and dir where it does.
func Redeem(state, name, command, dir string, now time.Time) (*Ticket, error) {
	if !isTicket(name) {
		return nil, ErrNoTicket
	}
	at := filepath.Join(ticketDir(state), name)
	// One of several that use it at once gets it.
	if err := os.Rename(at+".json", at+".used"); errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoTicket
	} else if err != nil {
		return nil, err
	}
	defer os.Remove(at + ".used")
	text, err := os.ReadFile(at + ".used")
	if err != nil {
		return nil, err
	}
	t := new(Ticket)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("the ticket cannot be read: %w", err)
	}
	switch {
	case t.Expires.IsZero() || now.After(t.Expires):
		return nil, ErrExpired
	case t.Command != command || realOf(dir) != realOf(t.Call.Dir):
		return nil, ErrChanged
	}
	return t, nil
}

// Change returns the input of the ticket's call with a command that runs it confined, by the ticket of
// that name: `obstat run --ticket T -c 'make'`. Where the command changes the shell's directory, the
// shell goes there afterwards.
func (t *Ticket) Change(exe, name string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(t.Call.Input, &fields); err != nil {
		return nil, err
	}
	text := quote(exe) + " run --ticket " + name + " -c " + quote(t.Command)
	if t.Bounds.Moves {
		text += "; obstat_exit=$?; cd -- \"$(" + quote(exe) + " run --where " + name + ")\"; (exit $obstat_exit)"
	}
	for _, field := range effect.MainFields(t.Call.Tool) {
		var had string
		if raw, ok := fields[field]; !ok || json.Unmarshal(raw, &had) != nil || had != t.Command {
			continue
		}
		changed, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		fields[field] = changed
		return json.Marshal(fields)
	}
	return nil, errors.New("the command stands in no field of the call that can be changed")
}

// quote writes a word for the shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// leave notes the directory that a command ended in, for [Took].
func leave(state, name, dir string) error {
	return statedir.Replace(filepath.Join(ticketDir(state), name+".dir"), []byte(dir))
}

// Took returns the directory that the command of a ticket ended in, "" where that is not known, and
// forgets it.
func Took(state, name string) string {
	if !isTicket(name) {
		return ""
	}
	at := filepath.Join(ticketDir(state), name+".dir")
	text, err := os.ReadFile(at)
	if err != nil {
		return ""
	}
	os.Remove(at)
	return string(text)
}
