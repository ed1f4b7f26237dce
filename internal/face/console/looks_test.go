package console_test

import (
	"context"
	"encoding/json"
	"flag"
	"html"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/face/server"
)

// axe is the script of axe-core that judges the pages: `make test-axe`.
var axe = flag.String("axe", "", "judge the pages by this `file`, axe.min.js of axe-core")

// TestAxe: axe has no remark on a page, on a large screen, a phone, in the dark and at 200 %.
func TestAxe(t *testing.T) {
	if *axe == "" {
		t.Skip("judges nothing without -axe; make test-axe has it")
	}
	script, err := os.ReadFile(*axe)
	must(t, err)
	s := open(t)
	past(s)
	ann := s.tab(chromium(t), "ann", server.RoleAdmin)
	story(s)
	judge := func(name string) {
		_, err := chromedp.Run(ann.ctx, chromedp.Evaluate[bool](string(script)+"; true"))
		must(t, err)
		ann.eval(`window.judged = null, axe.run().then((r) => { window.judged = r.violations.map((v) => v.id + ": " + v.nodes[0].target); })`)
		ann.see("window.judged")
		list, err := chromedp.Run(ann.ctx, chromedp.Evaluate[[]string]("window.judged"))
		must(t, err)
		t.Logf("%s: %d remarks", name, len(list))
		for _, one := range list {
			t.Errorf("%s: %s", name, one)
		}
	}
	for _, screen := range []struct {
		name string
		w, h int64
		dark bool
	}{{"large", 1440, 900, false}, {"dark", 1440, 900, true}, {"phone", 390, 844, false}, {"200 %", 720, 450, false}} {
		ann.do(chromedp.EmulateViewport(screen.w, screen.h))
		ann.scheme(screen.dark)
		for _, path := range []string{"/", "/history", "/policies", "/charts", "/grants", "/agents", "/policies/rollback"} {
			ann.do(chromedp.Navigate(s.url + path))
			if path == "/" {
				ann.see("document.querySelector('.row')")
				ann.do(chromedp.Click(".row .text"))
				ann.see("document.querySelector('#pane article')")
			}
			judge(screen.name + " " + path)
		}
		ann.do(chromedp.Navigate(s.url + "/history?verdict=deny"))
		ann.eval(`document.querySelector("td.text a").click()`) // a low screen's bar of pages may lie over the row
		ann.sees("Its way through the policy")
		judge(screen.name + " record")
	}
}

// paneOfSelection: keys answer the selection, and the pane shows that, wherever the cursor has gone.
func paneOfSelection(t *testing.T, browser context.Context) {
	s := open(t)
	ann := s.tab(browser, "ann", "dev")
	first, second := s.run("make one").Request.ID, s.run("npm ci").Request.ID
	ann.see("document.querySelectorAll('.row').length == 2")
	ann.look(first)
	ann.do(chromedp.KeyEvent("x"), chromedp.KeyEvent("j"))
	ann.sees("1 selected request")
	ann.see(`document.querySelector("#pane").textContent.includes("make one")`)
	ann.do(chromedp.KeyEvent("d"))
	s.waitFor(first, approval.Refused)
	if r := s.state(second); r.State != approval.Pending {
		t.Errorf("the other is %s", r.State)
	}
	// Requests that do not differ are shown as they are, without an empty difference.
	s.putIn("s2", "bash", map[string]string{"command": "npm ci"})
	ann.see(`document.querySelector(".row.group .text")?.textContent == "npm ci"`)
	// On a phone the whole form is in sight, and the field for words is one line high.
	ann.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile), chromedp.Navigate(s.url+"/"))
	ann.see("document.querySelector('.row')")
	ann.do(chromedp.Click(".row .text"))
	ann.see(`document.querySelector("#pane .words")?.getBoundingClientRect().height < 60`)
	ann.see(`document.querySelector("#pane form").getBoundingClientRect().bottom <= innerHeight`)
	ann.see(`document.querySelector(".row .pick").getBoundingClientRect().width >= 44`)
}

// TestChartsAxis: a chart shows the days that were asked for, however few records there are.
func TestChartsAxis(t *testing.T) {
	s := open(t)
	s.run("git status")
	_, page := s.visitor("ann").get("/charts?days=7")
	for _, m := range regexp.MustCompile(`data-plot="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		var plot struct{ From, To int64 }
		must(t, json.Unmarshal([]byte(html.UnescapeString(m[1])), &plot))
		if days := (plot.To - plot.From) / 86400; days != 7 && days != 6 { // a clock that is put forward takes an hour
			t.Errorf("the axis has %d days: %.100s", days, m[1])
		}
	}
	if strings.Count(page, "data-plot") != 2 {
		t.Error("there are not two charts")
	}
}

// TestLogins: an admin sees who is logged in and ends a login; others do neither.
func TestLogins(t *testing.T) {
	s := open(t)
	root, bob := s.visitor("root", server.RoleAdmin), s.visitor("bob", "dev")
	_, page := root.get("/agents")
	ends := regexp.MustCompile(`action="(/logins/[^"]+/end)">.{1,120}aria-label="End the login of bob"`).FindStringSubmatch(page)
	if ends == nil {
		t.Fatalf("bob's login is not on the page: %s", page)
	}
	if _, page := bob.get("/agents"); strings.Contains(page, "/logins/") {
		t.Error("bob sees logins")
	}
	if code, _ := bob.post(ends[1], url.Values{}); code != 403 {
		t.Errorf("bob ends a login: %d", code)
	}
	if code, body := root.post(ends[1], url.Values{}); code != 200 && code != 303 {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := bob.get("/history"); code == 200 {
		t.Error("bob is still logged in")
	}
	if code, _ := root.post("/logins/none/end", url.Values{}); code != 404 {
		t.Errorf("a login that is not there: %d", code)
	}
}
