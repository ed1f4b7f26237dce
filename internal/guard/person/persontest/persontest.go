// Package persontest plays a person for the tests of commands that act for persons
// only. The process that runs tests has no terminal that could be told from an agent's.
//
// It is for tests alone and decides nothing: [person.Here] has tests of its own.
package persontest

import (
	"errors"
	"os"

	"github.com/obstat/obstat/internal/guard/person"
)

// Typist returns a person at a shell's prompt, unless the environment has an agent's
// mark; it takes the place of [person.Here].
func Typist(string) (*person.Who, error) {
	if person.Marks(os.Environ()) != "" {
		return nil, &person.Refusal{Reason: person.ByAgent, Why: "an agent runs this",
			Do: "a person runs it in a terminal of their own"}
	}
	return Ann(), nil
}

// BelowAgent tells whether an agent has started this process, or one that it comes from.
func BelowAgent() bool {
	_, err := person.Here("/")
	var no *person.Refusal
	return errors.As(err, &no) && no.Reason == person.ByAgent
}

// Ann is the person whom [Typist] returns.
func Ann() *person.Who {
	return &person.Who{User: "ann", Terminal: "pts/9", Typed: true,
		Process: person.Process{PID: 7, Name: "obstat"}, Parents: []person.Process{{PID: 6, Name: "bash"}}}
}
