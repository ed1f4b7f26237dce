package dialect

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/textedit"
)

// With returns the policy as it would be with the offers accepted.
func (l *Loaded) With(offers ...obstat.Offer) (*obstat.Policy, error) {
	if t, ok := l.Dialect.(Trier); ok {
		return t.With(l, offers...)
	}
	return l.Policy.With(offers...)
}

// Into returns the file that gets accepted rules: the last of the project's, or the last
// that is the user's; "" where the files are not the user's to change.
func (l *Loaded) Into() string {
	for _, layers := range [][]string{{"", LayerProject, LayerLocal}, {LayerUser, LayerSession}} {
		for _, f := range slices.Backward(l.Input.Files) {
			if slices.Contains(layers, f.Layer) {
				return f.Name
			}
		}
	}
	return ""
}

// Written returns the policy that the configuration gives with the offers written into the
// file of that name; where it has none, that of [Loaded.With].
func (l *Loaded) Written(name string, offers ...obstat.Offer) (*obstat.Policy, error) {
	if _, ok := l.Dialect.(Editor); !ok || name == "" {
		return l.With(offers...)
	}
	with, err := l.written(name, nil, offers)
	if err != nil {
		return nil, err
	}
	return with.Policy, nil
}

// written loads the configuration with the offers added to the file of that name, whose
// text is now by now; nil: what it was.
func (l *Loaded) written(name string, now []byte, offers []obstat.Offer) (*Loaded, error) {
	ed, at, err := l.editor(name)
	if err != nil {
		return nil, err
	}
	in, err := l.adding(ed, at, now, offers)
	if err != nil {
		return nil, err
	}
	with, err := Load(l.Dialect, in)
	if err != nil {
		return nil, fmt.Errorf("with the rule in it the policy would not load: %w", err)
	}
	return with, nil
}

// adding returns the input with the offers added to one of its files.
func (l *Loaded) adding(ed Editor, at int, now []byte, offers []obstat.Offer) (_ *Input, err error) {
	in := *l.Input
	in.Files = slices.Clone(in.Files)
	f := &in.Files[at]
	if now != nil {
		f.Data = now
	}
	for i := range offers {
		if f.Data, err = ed.AddRule(f, &offers[i]); err != nil {
			return nil, err
		}
	}
	return &in, nil
}

// WithIn returns the policy with the offers written into one of its files, for an Editor
// whose rules mean something only where they stand.
func (l *Loaded) WithIn(at int, offers ...obstat.Offer) (*obstat.Policy, error) {
	in, err := l.adding(l.Dialect.(Editor), at, nil, offers)
	if err != nil {
		return nil, err
	}
	with, err := Load(l.Dialect, in)
	if err != nil {
		return nil, err
	}
	return with.Policy, nil
}

// editor returns what adds rules to the file of that name, and which of the files it is.
func (l *Loaded) editor(name string) (Editor, int, error) {
	ed, ok := l.Dialect.(Editor)
	if !ok {
		return nil, 0, fmt.Errorf("rules cannot be written to files of %s", l.Dialect.Name())
	}
	at := slices.IndexFunc(l.Input.Files, func(f File) bool { return f.Name == name })
	if at < 0 {
		return nil, 0, fmt.Errorf("%s is not a file of this policy", name)
	}
	return ed, at, nil
}

// Accept writes accepted rules into the file of that name, which is one of the
// loaded ones, every other byte unchanged. Nothing is written unless the
// configuration still loads with them in it. Other processes may do the same at
// the same time: none loses a rule of another's.
func (l *Loaded) Accept(name string, offers ...obstat.Offer) error {
	_, at, err := l.editor(name)
	if err != nil {
		return err
	}
	return textedit.UpdateFile(name, func(old []byte) ([]byte, error) {
		with, err := l.written(name, old, offers)
		if err != nil {
			return nil, err
		}
		return with.Input.Files[at].Data, nil
	})
}

// Swap writes accepted rules into the file of that name in the place of others, which stand at the places: all of it at
// once, or nothing. It is refused where the file has changed since it was loaded.
func (l *Loaded) Swap(name string, gone []obstat.Pos, offers ...obstat.Offer) error {
	_, at, err := l.editor(name)
	if err != nil {
		return err
	}
	behind := slices.Clone(gone)
	slices.SortFunc(behind, func(a, b obstat.Pos) int { return cmp.Or(b.Line-a.Line, b.Col-a.Col) })
	return textedit.UpdateFile(name, func(old []byte) ([]byte, error) {
		if !bytes.Equal(old, l.Input.Files[at].Data) {
			return nil, fmt.Errorf("%s has changed meanwhile", name)
		}
		now := l
		for _, pos := range behind { // from the end on: what stands before stays in its place
			less, _, err := now.Without(pos)
			if err != nil {
				return nil, err
			}
			now = less
		}
		with, err := now.written(name, nil, offers)
		if err != nil {
			return nil, err
		}
		return with.Input.Files[at].Data, nil
	})
}
