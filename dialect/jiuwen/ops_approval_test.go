package jiuwen

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// load compiles a config.yaml; more files follow it.
func load(t *testing.T, src []byte, options map[string]string, more ...dialect.File) *dialect.Loaded {
	t.Helper()
	l, err := dialect.Load(Dialect{}, &dialect.Input{Files: append([]dialect.File{{Name: "config.yaml", Data: src}}, more...), Options: options})
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	return l
}

// approve does what "always allow" does: it asks for offers and writes them all.
func approve(t *testing.T, src []byte, call *obstat.Call) (out []byte, applied bool) {
	t.Helper()
	l := load(t, src, nil)
	d := l.Policy.Decide(call, nil)
	for _, o := range l.Offers(call, nil, &d) {
		var err error
		if src, err = (Dialect{}).AddRule(&dialect.File{Name: "config.yaml", Data: src}, &o); err != nil {
			t.Fatal(err)
		}
		applied = true
	}
	return src, applied
}

// A departure is where an approval is stored otherwise than the original does.
type departure struct {
	why      string
	patterns []string // of the overrides that are written
	level    bool     // the tool as a whole gets a level
}

var alwaysAllowDepartures = map[string]departure{
	"jwop-02663": {"a chain is stored as the one text that was seen; its parts by themselves were not", []string{"git status && npm test"}, false},
	"jwop-02666": {"a chain is stored as the one text that was seen", []string{"git status && git status"}, false},
	"jwop-02674": {"several lines are stored as the one text that was seen", []string{"python a.py\npython b.py"}, false},
	"jwop-02687": {"a text with a wildcard is stored so that it matches itself, and not `rm -rf /home a.txt`", []string{`re:\Arm\ \*\.txt\Z`}, false},
	"jwop-02709": {"<< in quotes is no here-document: the original stores a piece of it with a wildcard", []string{"echo 'a << b'"}, false},
	"jwop-02672": {"the redirect is seen: its text can be approved", []string{"ls > f"}, false},
	"jwop-02677": {"the variable changes nothing that echo does: its text can be approved", []string{"echo $HOME"}, false},
	"jwop-02673": {"a here-document is seen: its text can be approved", []string{"cat <<EOF\nhi\nEOF"}, false},
	"jwop-02679": {"what the substitution runs is seen: its text can be approved", []string{"echo $(id)"}, false},
	"jwop-02720": {"the call names two paths, and the original approves one of them", []string{"/c", "/a/b"}, false},
	"jwop-02714": {"what the shell would run cannot be seen, and `sh` alone is not what was approved", nil, false},
	"jwop-02627": asLevel, "jwop-02636": asLevel, "jwop-02645": asLevel, "jwop-02658": asLevel, "jwop-02741": asLevel,
}

// asLevel is how a tool without commands and paths is remembered. The original asks about it
// for ever.
var asLevel = departure{"rules cannot say more of such a tool, and its user would write /permissions allow", nil, true}

func TestOpsAlwaysAllow(t *testing.T) {
	for _, o := range ops(t, "always_allow", 34) {
		var in struct {
			Tool         string
			Args, Config json.RawMessage
		}
		var want struct {
			Applied     bool
			Permissions any
			Reeval      *struct{ Level obstat.Verdict }
		}
		o.in(t, &in)
		o.out(t, &want)
		call := &obstat.Call{Tool: in.Tool, Input: in.Args, Dir: "/"} // everything is in the workspace
		src := block(t, json.RawMessage(`{"permissions":`+string(in.Config)+`}`))
		after, applied := approve(t, src, call)
		if dep, ok := alwaysAllowDepartures[o.ID]; ok {
			checkDeparture(t, o.ID, dep, after, call)
			continue
		}
		if got := asJSON(t, after).(map[string]any)["permissions"]; applied != want.Applied || !same(got, want.Permissions) {
			t.Errorf("%s: %s %s: applied %v\n got %v\nwant %v", o.ID, in.Tool, in.Args, applied, got, want.Permissions)
		}
		if applied {
			if d := load(t, after, nil).Policy.Decide(call, nil); d.Verdict != obstat.Allow {
				t.Errorf("%s: an approved call gets %v: %s", o.ID, d.Verdict, d.Reason())
			}
		}
	}
}

func checkDeparture(t *testing.T, id string, dep departure, after []byte, call *obstat.Call) {
	t.Helper()
	l := load(t, after, nil)
	sec, err := Section(after)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if list := sec.Get(listOverrides); list != nil {
		for _, e := range list.Elems {
			got = append(got, text(e.Get("pattern")))
		}
	}
	d := l.Policy.Decide(call, nil)
	if level := text(sec.At("tools", call.Tool)) == "allow"; level != dep.level || !slices.Equal(got, dep.patterns) || (d.Verdict == obstat.Allow) != (len(got) > 0 || level) {
		t.Errorf("%s: want %q (%s)\n got %q, then %v: %s", id, dep.patterns, dep.why, got, d.Verdict, d.Reason())
	}
}

// TestOpsAlwaysAllowLegacy: the original hands out the whole tool, or any
// command that starts like the approved one. Ours stores the text that was
// seen, as a pattern of the tool, and leaves the tool's level to the rest; what
// legacy patterns cannot say is not stored. Where the original did no more than
// that, the answers agree.
func TestOpsAlwaysAllowLegacy(t *testing.T) {
	for _, o := range ops(t, "always_allow_legacy", 11) {
		var in struct {
			Tool         string
			Args, Config json.RawMessage
		}
		o.in(t, &in)
		call := &obstat.Call{Tool: in.Tool, Input: in.Args, Dir: "/srv/ws"}
		src := block(t, json.RawMessage(`{"permissions":`+string(in.Config)+`}`))
		if o.ID == "jwop-02763" {
			if _, err := (Dialect{}).AddRule(&dialect.File{Data: src}, &obstat.Offer{Rule: obstat.Rule{Tool: obstat.Is(in.Tool)}, List: listTools, Text: in.Tool + "(ls)"}); err == nil {
				t.Errorf("%s: patterns that are a list are not read, and nothing is to be added to them", o.ID)
			}
			continue
		}
		after, applied := approve(t, src, call)
		l := load(t, after, nil)
		if d := l.Policy.Decide(call, nil); applied && d.Verdict != obstat.Allow {
			t.Errorf("%s: an approved call gets %v\n%s", o.ID, d.Verdict, after)
		}
		other := shellCall(t, in.Tool, "rm -rf /home")
		if d := l.Policy.Decide(other, nil); d.Verdict == obstat.Allow {
			t.Errorf("%s: approving %s allows everything\n%s", o.ID, in.Args, after)
		}
	}
}

func TestOpsAddDir(t *testing.T) {
	for _, o := range ops(t, "cli_add_dir", 19) {
		var in struct {
			Path   string
			Config json.RawMessage
		}
		var want struct {
			Permissions any
			Result      map[string]any
		}
		o.in(t, &in)
		o.out(t, &want)
		m := &memory{block(t, json.RawMessage(`{"permissions":`+string(in.Config)+`}`))}
		for range 2 { // the second time changes nothing
			got, err := addDir(m, nil, "/", in.Path)
			result := map[string]any{"ok": err == nil}
			if err != nil {
				result["error"] = err.Error()
				if !errors.Is(err, ErrPathEmpty) && !errors.Is(err, ErrPathRoot) {
					t.Errorf("%s: %v", o.ID, err)
				}
			} else {
				raw, _ := json.Marshal(got)
				_ = json.Unmarshal(raw, &result)
			}
			if !same(result, want.Result) {
				t.Errorf("%s: %q\n got %v\nwant %v", o.ID, in.Path, result, want.Result)
			}
			if got := asJSON(t, m.data).(map[string]any)["permissions"]; !same(got, want.Permissions) {
				t.Errorf("%s: %q\n got %v\nwant %v", o.ID, in.Path, got, want.Permissions)
			}
		}
	}
}

// TestOpsOwnerScopeAvatar departs from the original in one way: an owner_scopes
// that is absent or empty does not allow everything; the policy decides, and
// what it would ask about is denied.
// persona decides a call in the scene of a digital persona.
func persona(pol *obstat.Policy, call *obstat.Call) obstat.Decision {
	c := *call
	c.Mode = ModeAvatar
	return pol.Decide(&c, nil)
}

func TestOpsOwnerScopeAvatar(t *testing.T) {
	for _, o := range ops(t, "owner_scope_avatar", 135) {
		var in struct {
			Tool, Channel     string
			Args, Permissions json.RawMessage
			User              string `json:"principal_user_id"`
		}
		var want struct {
			Decision obstat.Verdict
			Level    *string `json:"owner_level"`
		}
		o.in(t, &in)
		o.out(t, &want)
		src := block(t, json.RawMessage(`{"permissions":`+string(in.Permissions)+`}`))
		l := load(t, src, nil)
		call := &obstat.Call{Tool: in.Tool, Input: in.Args, Channel: in.Channel, User: in.User}
		p, err := paramsOf(l.Program)
		if err != nil {
			t.Fatal(err)
		}
		args, err := arguments(&obstat.Facts{Call: call})
		if err != nil {
			t.Fatal(err)
		}
		level := p.Owners.level(in.Channel, in.User, in.Tool, args)
		if (level == "") != (want.Level == nil) || want.Level != nil && level != *want.Level {
			t.Errorf("%s: owner level %q, want %v", o.ID, level, want.Level)
		}
		got := persona(l.Policy, call).Verdict
		if len(p.Owners) == 0 && want.Decision == obstat.Allow && !namesChannels(in.Permissions) {
			want.Decision = obstat.Deny
			if d := l.Policy.Decide(call, nil); d.Verdict == obstat.Allow {
				want.Decision = obstat.Allow
			}
		}
		if got != want.Decision {
			t.Errorf("%s: %s %s %s: %v, want %v", o.ID, in.Permissions, in.User, in.Args, got, want.Decision)
		}
	}
}

// namesChannels tells whether owner_scopes is there with something in it.
func namesChannels(permissions json.RawMessage) bool {
	var p struct {
		Scopes map[string]any `json:"owner_scopes"`
	}
	_ = json.Unmarshal(permissions, &p)
	return len(p.Scopes) > 0
}
