package dialect

import (
	"fmt"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/textedit"
)

// With returns the policy as it would be with the offers accepted.
func (l *Loaded) With(offers ...obstat.Offer) (*obstat.Policy, error) {
	if t, ok := l.Dialect.(Trier); ok {
		return t.With(l, offers...)
	}
	return l.Policy.With(offers...)
}

// Written returns the policy that the configuration gives with the offers written into its
// last file; where its dialect writes none, that of [Loaded.With].
func (l *Loaded) Written(offers ...obstat.Offer) (*obstat.Policy, error) {
	ed, ok := l.Dialect.(Editor)
	if !ok || len(l.Input.Files) == 0 {
		return l.With(offers...)
	}
	in := *l.Input
	in.Files = slices.Clone(in.Files)
	f := &in.Files[len(in.Files)-1]
	for i := range offers {
		text, err := ed.AddRule(f, &offers[i])
		if err != nil {
			return nil, err
		}
		f.Data = text
	}
	with, err := Load(l.Dialect, &in)
	if err != nil {
		return nil, err
	}
	return with.Policy, nil
}

// Accept writes accepted rules into the file of that name, which is one of the
// loaded ones, every other byte unchanged. Nothing is written unless the
// configuration still loads with them in it. Other processes may do the same at
// the same time: none loses a rule of another's.
func (l *Loaded) Accept(name string, offers ...obstat.Offer) error {
	ed, ok := l.Dialect.(Editor)
	if !ok {
		return fmt.Errorf("rules cannot be written to files of %s", l.Dialect.Name())
	}
	at := slices.IndexFunc(l.Input.Files, func(f File) bool { return f.Name == name })
	if at < 0 {
		return fmt.Errorf("%s is not a file of this policy", name)
	}
	return textedit.UpdateFile(name, func(old []byte) ([]byte, error) {
		in := *l.Input
		in.Files = slices.Clone(in.Files)
		f := &in.Files[at]
		f.Data = old
		for i := range offers {
			text, err := ed.AddRule(f, &offers[i])
			if err != nil {
				return nil, err
			}
			f.Data = text
		}
		if _, err := Load(l.Dialect, &in); err != nil {
			return nil, fmt.Errorf("with the rule in it the policy would not load: %w", err)
		}
		return f.Data, nil
	})
}
