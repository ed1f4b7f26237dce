package agents

import (
	"bytes"
	"context"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/scripted"
)

// TestDraw: what is drawn is told from how, also where a sequence comes in two pieces.
func TestDraw(t *testing.T) {
	s := &screen{}
	rest := s.draw("\x1b[2J\x1b[1;1HDo\x1b[4Gyou \x1b]0;title\x07want\x1b[3")
	if rest != "\x1b[3" {
		t.Errorf("%q is left", rest)
	}
	s.draw(rest + "8;5;1m to?\x1b[0m\r\n1. Yes")
	end, ok := s.shows("No such thing|Do you want to?", 0)
	if !ok {
		t.Fatalf("it shows %q", s.text.String())
	}
	s.calls(1)
	if call, from := s.turn(); call != 1 || from != end+len("1.Yes") {
		t.Errorf("call %d is drawn from %d on", call, from)
	}
	if _, again := s.shows("Do you want to?", end); again {
		t.Error("it is shown once")
	}
	if _, ok := s.shows("1. Yes", end); !ok || s.text.String() != "Doyouwantto?1.Yes" {
		t.Errorf("%q", s.text.String())
	}
}

// TestConverse: a program on a terminal is asked where its cursor is, its first question is answered with the
// keys for that, and the question about a call as the scenario has it; then it is ended.
func TestConverse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the lab has terminals on Linux only")
	}
	d := &dialog{shows: "Do you want to proceed?", yes: "1", no: "2", first: []step{{"Do you trust it?", "ENTER"}}}
	for _, tc := range []struct {
		answers []approval.Answer
		dies    bool
		want    string
	}{{[]approval.Answer{{Allow: true, Scope: approval.Once}}, false, "took1"}, {[]approval.Answer{{Allow: true, Scope: approval.Session}}, false, "took1"}, {[]approval.Answer{{}}, false, "took2"}, {nil, true, ""}} {
		model, err := scripted.New(scripted.Script{scripted.MainMarker: nil})
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		s := &scenario{tty: true, main: []action{shell("ls")}, answers: tc.answers, dies: tc.dies}
		r := &run{dir: t.TempDir(), model: model}
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `stty raw -echo; printf '\033[6n'; dd bs=6 count=1 2>/dev/null >/dev/null
			echo Do you trust it?; dd bs=1 count=1 >/dev/null 2>&1; echo Do you want to proceed?; k=$(dd bs=1 count=1 2>/dev/null); echo took $k; : > took; sleep 60`)
		cmd.Dir = r.dir
		var log bytes.Buffer
		heard := func(*exec.Cmd) func() {
			if len(tc.answers) == 0 || !tc.answers[0].Allow {
				return func() {}
			}
			go func() { // the model hears of the call once it was allowed
				for !there("took")(r) && t.Context().Err() == nil {
					time.Sleep(50 * time.Millisecond)
				}
				model.Hear(scripted.MainMarker, "ok")
			}()
			return func() {}
		}
		if err := r.onScreen(context.Background(), cmd, &log, d, s, heard); err == nil {
			t.Error("it has ended by itself")
		}
		if r.asked != 1 || !strings.Contains(squeeze(log.String()), tc.want) {
			t.Errorf("%+v: asked %d times: %q", tc.answers, r.asked, log.String())
		}
	}
}
