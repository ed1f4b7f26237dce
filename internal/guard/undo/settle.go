package undo

import (
	"fmt"

	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// Settle ends before anything else what killed processes had begun, and says what that was: taking changes back, and
// the changes of a confined run that had begun to count. It costs two looks at names where nothing is left.
func Settle(getenv func(string) string) (told []string, err error) {
	dir, err := statedir.Dir(getenv)
	if err != nil {
		return nil, nil // without a place for it nothing was begun
	}
	if store := statedir.Changes(dir); changes.Begun(store) {
		s, err := changes.Open(store, changes.Limits{})
		if err != nil {
			return nil, err
		}
		if text := s.Told(); text != "" {
			told = append(told, text)
		}
	}
	layers := statedir.Layers(dir)
	if !confine.Begun(layers) {
		return told, nil
	}
	ended, err := confine.Recover(layers)
	if len(ended) > 0 {
		const text = "a confined run was killed before, and its changes are settled now: %d paths"
		told = append(told, fmt.Sprintf(text, len(ended)))
	}
	return told, err
}
