package console_test

import (
	"html"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/console"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestFilesOfTheServer: a request to write a file is shown as the change that it makes where agents
// run on the server's machine. Elsewhere the server's own file of that name is nobody's to see:
// an agent that asks to write /tls/tls.key must not have it shown.
func TestFilesOfTheServer(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "tls.key")
	must(t, os.WriteFile(secret, []byte("the server's own key\nsame\n"), 0o600))
	for name, world := range map[string]obstat.World{"elsewhere": nil, "here": obstat.OS{}} {
		s := &site{t: t, store: new(memory.Store), file: filepath.Join(t.TempDir(), "opencode.json")}
		must(t, os.WriteFile(s.file, []byte(`{"permission":"ask"}`), 0o600))
		srv, err := server.Open(t.Context(), server.Options{Store: s.store, Policy: &gate.Files{Names: []string{s.file}, NoPins: true}, Console: console.New, World: world})
		must(t, err)
		h := httptest.NewServer(srv.Handler())
		s.url = h.URL
		tok, err := server.NewToken(t.Context(), s.store, client.TokenRequest{Kind: "agent", Name: "coder"}, "test")
		must(t, err)
		s.agent = tok.Secret
		id := s.put("write", map[string]string{"filePath": secret, "content": "\tanother\nsame\n"}).Request.ID
		ann := s.visitor("ann")
		_, inbox := ann.get("/requests/" + id)
		if shown := strings.Contains(html.UnescapeString(inbox), "- the server's own key"); shown != (name == "here") {
			t.Errorf("%s: the file is shown: %t", name, shown)
		}
		if !strings.Contains(html.UnescapeString(inbox), "+ \tanother") {
			t.Errorf("%s: the new text is not shown, or its tab is: %s", name, inbox)
		}
		_, history := ann.get("/history/2")
		if strings.Contains(html.UnescapeString(history), "the server's own key") {
			t.Errorf("%s: the history shows a file of now", name)
		}
		h.Close()
		srv.Close()
	}
}
