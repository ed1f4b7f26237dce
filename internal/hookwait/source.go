package hookwait

import (
	"errors"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/dialect/program"
	"github.com/obstat/obstat/gate"
)

// loaded is a policy that was loaded before, as the gate of one call has it.
type loaded struct{ *dialect.Loaded }

var _ gate.Source = loaded{}

// Stamp is always the same: the call was put to this policy.
func (loaded) Stamp() (string, error) { return "", nil }

// Load returns the policy.
func (l loaded) Load() (*dialect.Loaded, error) { return l.Loaded, nil }

// Accept writes rules to the file that is the user's to change: the last one
// that is not the machine's.
func (loaded) Accept(now *dialect.Loaded, offers ...obstat.Offer) error {
	files := now.Input.Files
	for i := len(files) - 1; i >= 0; i-- {
		if files[i].Layer != claudecode.LayerManaged {
			return now.Accept(files[i].Name, offers...)
		}
	}
	return errors.New("the policy's files are not the user's to change")
}

// noPolicy asks about everything, for projects that have no policy.
type noPolicy struct{}

// noPolicyText is the Program of that.
const noPolicyText = `{"obstat": 1, "mode": "none", "pipelines": {"none": {"stages": [], "default": "ask"}}, "rules": {}}`

// Stamp is always the same.
func (noPolicy) Stamp() (string, error) { return "", nil }

// Load makes the policy.
func (noPolicy) Load() (*dialect.Loaded, error) {
	return dialect.Load(program.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "no policy", Data: []byte(noPolicyText)}}})
}

// Accept has no file to write to.
func (noPolicy) Accept(*dialect.Loaded, ...obstat.Offer) error {
	return errors.New("there is no policy to write the rule to; make an obstat.json")
}
