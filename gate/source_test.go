package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/policy"
)

// TestWhereCallsAreMade: from where a source looks for policies.
func TestWhereCallsAreMade(t *testing.T) {
	for _, tt := range []struct {
		name             string
		files            *Files
		dir              string
		roots            []string
		want, server     string
		wantRoots, where []string // the workspace, and roots that count as well
	}{
		{"where the call is", &Files{}, "/p", []string{"/r"}, "/p", "", []string{"/r"}, nil},
		{"the agent's project", &Files{Dir: "/a"}, "/p", []string{"/r"}, "/p", "", []string{"/a"}, []string{"/r"}},
		{"a server", &Files{Dir: "/s", Serves: true}, "/p", []string{"/r"}, "/p", "/s", []string{"/r"}, nil},
		{"chosen by the model", &Files{Chosen: true}, "/p", []string{"/p"}, "/p", "", nil, nil},
		{"chosen, with a workspace", &Files{Chosen: true}, "/p", []string{"/r"}, "/p", "", []string{"/r"}, nil},
		{"chosen, with two roots", &Files{Chosen: true}, "/p", []string{"/p", "/r"}, "/p", "", []string{"/p", "/r"}, nil},
		{"not chosen", &Files{}, "/p", []string{"/p"}, "/p", "", []string{"/p"}, nil},
		{"named files", &Files{Names: []string{"x"}, Dir: "/a"}, "/p", []string{"/r"}, "", "", nil, nil},
	} {
		w := tt.files.where(&obstat.Call{Dir: tt.dir, Roots: tt.roots})
		got := fmt.Sprint(w.Dir, " ", w.Server, " ", w.Roots, " ", w.Also)
		if want := fmt.Sprint(tt.want, " ", tt.server, " ", tt.wantRoots, " ", tt.where); got != want {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
	}
	t.Setenv("HOME", "/home/of/the/test")
	if home := (&Files{}).home(); home != "/home/of/the/test" {
		t.Errorf("home is %s", home)
	}
	if home := (&Files{Home: "/h"}).home(); home != "/h" {
		t.Errorf("home is %s", home)
	}
}

// noPolicy is a source without one.
type noPolicy struct{ err error }

func (s noPolicy) InForce(*obstat.Call) (*policy.InForce, error) { return nil, s.err }
func (s noPolicy) Accept(context.Context, *Accepted) error       { return s.err }

// TestWithoutPolicy: where there is no policy, every call is denied and the reason says so, or why.
func TestWithoutPolicy(t *testing.T) {
	for want, source := range map[string]Source{"there is no policy": noPolicy{}, "the disk is gone": noPolicy{errors.New("the disk is gone")}} {
		g, err := Open(t.Context(), Options{Policy: source, World: &obstat.Snapshot{}, NoStart: true})
		if err != nil {
			t.Fatal(err)
		}
		c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}
		d, _ := g.Authorize(t.Context(), c, &Terms{Ask: Leave})
		if d.Verdict != obstat.Deny || !strings.Contains(d.Reason(), want) {
			t.Errorf("%s: %s, want %q", d.Verdict, d.Reason(), want)
		}
		if s := g.Status(t.Context()); !strings.Contains(s.Broken, want) || s.Policy != "" {
			t.Errorf("%+v, want %q", s, want)
		}
		if r := g.Reach(t.Context(), c); r.Loosest != obstat.Deny {
			t.Errorf("may be %s", r.Loosest)
		}
		g.Close()
	}
	if f, err := (Fixed{}).InForce(nil); f != nil || err == nil {
		t.Errorf("no policy is %v, %v", f, err)
	}
}
