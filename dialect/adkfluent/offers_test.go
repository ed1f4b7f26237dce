package adkfluent_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/adkfluent"
)

// An accepted offer stands in the file, every other byte unchanged, and settles
// its call.
func TestOffersAreWrittenBack(t *testing.T) {
	for name, tc := range map[string]struct{ before, after string }{
		"p.json":  {"{\n  \"ask\": [\"web_fetch\"], // no\n  \"allow\": [\"grep\"]\n}\n", ""},
		"q.jsonc": {"{\n  \"ask\": [\"web_fetch\"], // fetch\n  \"allow\": [\"grep\"]\n}\n", "{\n  \"ask\": [\"web_fetch\"], // fetch\n  \"allow\": [\"grep\", \"web_fetch\"]\n}\n"},
		"r.yaml":  {"# mine\nallow: [grep]  # search\nask:\n  - web_fetch\n", "# mine\nallow: [grep, web_fetch]  # search\nask:\n  - web_fetch\n"},
		"s.json":  {"{\"mode\": \"default\"}", "{\"mode\": \"default\", \"allow\": [\"web_fetch\"]}"},
	} {
		f := dialect.File{Name: name, Data: []byte(tc.before)}
		l, err := dialect.Load(adkfluent.Dialect{}, &dialect.Input{Files: []dialect.File{f}})
		if tc.after == "" {
			if err == nil {
				t.Errorf("%s: a comment in strict JSON was taken", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		call := &obstat.Call{Tool: "web_fetch", Input: []byte(`{"url":"https://example.com"}`)}
		d := l.Policy.Decide(call, nil)
		offers := l.Offers(call, nil, &d)
		if len(offers) != 1 || offers[0].Text != "web_fetch" {
			t.Fatalf("%s: offers %+v", name, offers)
		}
		out, err := adkfluent.Dialect{}.AddRule(&f, &offers[0])
		if err != nil || string(out) != tc.after {
			t.Errorf("%s: %v, %q, want %q", name, err, out, tc.after)
		}
		f.Data = out
		if again, err := (adkfluent.Dialect{}).AddRule(&f, &offers[0]); err != nil || string(again) != string(out) {
			t.Errorf("%s: written twice: %v, %q", name, err, again)
		}
	}
	// A tool that runs commands is not handed out as a whole.
	l, err := dialect.Load(adkfluent.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "p.json", Data: []byte(`{}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	call := &obstat.Call{Tool: "bash", Input: []byte(`{"command":"ls"}`)}
	d := l.Policy.Decide(call, nil)
	if offers := l.Offers(call, nil, &d); len(offers) != 0 {
		t.Errorf("offered %+v", offers)
	}
	for _, bad := range []obstat.Rule{{Tool: obstat.Is("x")}, {Verdict: obstat.Allow}, {Tool: obstat.Is("x"), Verdict: obstat.Allow, Pattern: obstat.Is("y")}} {
		if _, err := (adkfluent.Dialect{}).AddRule(&dialect.File{Name: "p.json", Data: []byte(`{}`)}, &obstat.Offer{Rule: bad}); err == nil {
			t.Errorf("%+v was written", bad)
		}
	}
}
