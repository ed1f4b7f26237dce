package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
)

// TestPhoneTables: on a phone no table hides a column at the right, such as how often a rule
// decided or the button that takes a grant back.
func TestPhoneTables(t *testing.T) {
	browser := chromium(t)
	s := open(t)
	s.run("git status")
	id := s.run("make all").Request.ID
	ann := s.tab(browser, "ann", server.RoleAdmin)
	person, err := server.NewToken(t.Context(), s.store, client.TokenRequest{Kind: "person", Name: "bob"}, "test")
	must(t, err)
	bob, err := client.New(client.Options{URL: s.url, Token: person.Secret})
	must(t, err)
	_, err = bob.Answer(t.Context(), id, client.Answer{Allow: true, Scope: "session"})
	must(t, err)
	ann.do(chromedp.EmulateViewport(360, 740))
	for _, path := range []string{"/history", "/policies", "/grants", "/agents"} {
		ann.do(chromedp.Navigate(s.url + path))
		ann.see(`document.querySelector(".table td")`)
		ann.see(`[...document.querySelectorAll(".table")].every(e => e.scrollWidth <= e.clientWidth)`)
		ann.see(`[...document.querySelectorAll(".table td, .table button")].every(e => e.getBoundingClientRect().right <= innerWidth)`)
	}
}
