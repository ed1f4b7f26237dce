package server_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/face/server"
)

// brokenWorld breaks on every look at a directory that is called broken.
type brokenWorld struct{ obstat.Snapshot }

func (w *brokenWorld) IsDir(p string) bool {
	if strings.Contains(p, "broken") {
		panic("the disk is on fire")
	}
	return w.Snapshot.IsDir(p)
}

// TestBroken: a call that breaks something is an error for who made it, alone or among others, and the
// server goes on.
func TestBroken(t *testing.T) {
	s := open(t, func(o *server.Options) { o.World = &brokenWorld{} })
	call := `{"tool":"bash","input":{"command":"touch broken/x"},"dir":"/src"}`
	for _, body := range []string{`{"call":` + call + `}`, `{"calls":[` + call + `,{"tool":"bash","input":{"command":"git status"}}]}`} {
		if code, text := s.do(s.agent, "POST", "/v1/decisions", body); code < 500 || strings.Contains(text, `"allow"`) {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	if code, text := s.do(s.agent, "POST", "/v1/decisions", `{"call":{"tool":"bash","input":{"command":"git status"}}}`); code != 200 {
		t.Errorf("afterwards: %d %s", code, text)
	}
}
