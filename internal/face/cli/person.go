package cli

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// A command loosens a policy only for a person. It asks [Factory.accept] before it writes;
// place is the file or directory that is loosened.

// errDeclined: a person was asked and did not say yes.
var errDeclined = errors.New("nothing was changed")

// person returns the person behind the command, or why there is none.
func (f *Factory) person(place string) (*person.Who, error) {
	if f.IO.Person == nil {
		return nil, &person.Refusal{Reason: person.Unseen, Why: "it is not known who runs this",
			Do: "a person runs it in a terminal"}
	}
	if abs, err := filepath.Abs(place); err == nil {
		place = abs
	}
	return f.IO.Person(place)
}

// accept returns the person who wants a change, asking where that was not said: yes is
// --yes, or that the command has no such flag. A Makefile or a git hook that runs
// `obstat trust --yes` in a person's terminal is asked about there all the same.
func (f *Factory) accept(place, question string, yes bool) (*person.Who, error) {
	who, err := f.person(place)
	switch {
	case err != nil:
		return nil, err
	case yes && (who.Typed || who.Trust != ""):
		return who, nil
	case who.Trust != "" || !f.IO.InTTY:
		return nil, errors.New("nothing was changed: standard input is no terminal to ask at; --yes, at a shell's prompt or below " + person.TrustVariable + ", accepts what is shown")
	case !f.IO.yes(question):
		return nil, errDeclined
	}
	return f.person(place) // the terminal may have been closed meanwhile
}

// byAgent returns why a process may be an agent's; nil for one without a terminal that a
// person, a service or a container has started.
func (f *Factory) byAgent(place string) *person.Refusal {
	_, err := f.person(place)
	var no *person.Refusal
	if !errors.As(err, &no) || no.Reason == person.NoTerminal || no.Reason == person.Behind {
		return nil
	}
	return no
}

// meant is accept for a command that has no question of its own.
func (f *Factory) meant(place string) (*person.Who, error) {
	return f.accept(place, "This loosens what agents may do. Do it?", true)
}

// everywhere is the place of a change that is about all projects.
const everywhere = "/"

// stored returns the place of a change in a store: its file, or everywhere for one that
// servers share.
func (o *storeOptions) stored() string {
	if path, err := o.path(); err == nil && !o.shared() {
		return path
	}
	return everywhere
}

// stateHome returns the place of a change in obstat's state.
func stateHome() string {
	dir, _ := statedir.Dir(os.Getenv)
	return cmp.Or(dir, everywhere)
}
