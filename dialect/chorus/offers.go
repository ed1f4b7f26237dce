package chorus

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

var (
	_ dialect.Offerer = Dialect{}
	_ dialect.Editor  = Dialect{}
)

// Offers proposes to allow this very action from now on. A preset cannot take a
// rule, so there it is for the session; a change of the agent's own profile is
// asked about every time.
func (Dialect) Offers(_ *dialect.Loaded, call *obstat.Call, world obstat.World, d *obstat.Decision) []obstat.Offer {
	action, err := Action(call, world)
	if err != nil || strings.HasPrefix(action, grantPrefix) {
		return nil
	}
	text, scope := escape(action), "always"
	if _, preset := Presets()[string(d.Mode)]; preset {
		scope = "session"
	}
	return []obstat.Offer{{List: string(d.Mode) + " allow", Scope: scope, Text: text, Rule: rule(text, obstat.Allow)}}
}

// escape writes a text as the expression that matches it alone.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
			continue
		case strings.ContainsRune(`\.+*?()[]{}|^$`, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// AddRule puts the pattern at the end of the allow list of the profile that the
// file spells out.
func (Dialect) AddRule(f *dialect.File, offer *obstat.Offer) ([]byte, error) {
	r := &offer.Rule
	if r.Verdict != obstat.Allow || r.Pattern.Flavour != pattern.Full || !r.Tool.IsZero() {
		return nil, fmt.Errorf("%w: only a pattern can be put on a profile's allow list", textedit.ErrRefused)
	}
	root, problems := jsonx.Parse(f.Data, jsonx.Options{})
	if err := f.Problems(problems).Fatal(); err != nil {
		return nil, err
	}
	name, _ := strings.CutSuffix(offer.List, " allow")
	path := []any{keyPermissions, keyAllow}
	if name != custom {
		path = []any{keyProfiles, name, keyAllow}
	}
	if profile := root.At(path[:len(path)-1]...); !profile.Is(tree.Object) {
		return nil, fmt.Errorf("%w: %s does not spell out the profile %s", textedit.ErrRefused, f.Name, name)
	}
	out, err := textedit.JSON.AppendOnce(f.Data, r.Pattern.Text, path...)
	if err != nil {
		return nil, err
	}
	_, errs := Load(&dialect.Input{Files: []dialect.File{{Name: f.Name, Layer: f.Layer, Data: out}}})
	for _, e := range errs {
		if e.Code == obstat.CodeBadPattern {
			return nil, e
		}
	}
	return out, nil
}
