package chorusdiscord_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/chorusdiscord"
	"github.com/obstat/obstat/dialect"
	profile "github.com/obstat/obstat/dialect/chorus"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/host/chorus"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// A kept channel keeps how the last question ended.
type kept struct {
	chorus.Channel
	last *chorus.Answer
}

func (k *kept) Ask(ctx context.Context, q *chorus.Question) (chorus.Conversation, error) {
	conv, err := k.Channel.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	return &keptTalk{conv, k}, nil
}

type keptTalk struct {
	chorus.Conversation
	of *kept
}

func (t *keptTalk) Close(ctx context.Context, a chorus.Answer) error {
	t.of.last = &a
	return t.Conversation.Close(ctx, a)
}

// confirm checks a bash call that asks, of user 1, and returns how the question
// ended.
func confirm(t *testing.T, opts chorus.Options, ch chorus.Channel, command string) chorus.Answer {
	t.Helper()
	l, err := dialect.Load(profile.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "config.json", Data: []byte(`{"permissions": {"allow": [], "ask": ["(?s)tool:.*"]}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{Channel: ch}
	opts.Channel, opts.Gate = k, gate.Options{Policy: gate.Fixed{Loaded: l}, World: &obstat.Snapshot{HomeDir: "/home/u"}}
	h, err := chorus.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	input, _ := json.Marshal(map[string]string{"command": command})
	r := h.Check(t.Context(), &obstat.Call{Tool: "bash", Input: input, Agent: "a", User: "1", Channel: channel, Dir: "/ws"})
	if k.last == nil {
		detail, _, _ := strings.Cut(r.Row.Detail, ":")
		return chorus.Answer{Approved: r.Allowed, Detail: detail}
	}
	if k.last.Approved != r.Allowed {
		t.Errorf("the channel heard %+v, the caller %+v", k.last, r)
	}
	k.last.Err = nil
	return *k.last
}

// ask puts a question to the stand-in; people act once both reactions are there.
func ask(t *testing.T, opts chorus.Options, people func(d *standin, message string)) (chorus.Answer, *standin) {
	t.Helper()
	d, s := newStandin(t)
	d.onReact = func(id string) { people(d, id) }
	ch, err := chorusdiscord.New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ch.Close)
	return confirm(t, opts, ch, "rm -rf node_modules && npm install"), d
}

func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		name      string
		approvers []string
		people    func(d *standin, id string)
		want      chorus.Answer
		last      string // the message that ends it
	}{
		{"a checkmark", nil, func(d *standin, id string) { d.reaction(id, "✅", "1") }, chorus.Answer{Approved: true, By: "1"}, "Approved by <@1>."},
		{"a cross", nil, func(d *standin, id string) { d.reaction(id, "❌", "1") }, chorus.Answer{By: "1", Detail: "User denied"}, "Denied by <@1>."},
		{"a reply", nil, func(d *standin, id string) { d.replyTo(id, "Approve!", "1", false) }, chorus.Answer{Approved: true, By: "1"}, "Approved by <@1>."},
		{"a reply that denies", nil, func(d *standin, id string) { d.replyTo(id, "no.", "1", false) }, chorus.Answer{By: "1", Detail: "User denied"}, "Denied by <@1>."},
		{"chatter, then a reply", nil, func(d *standin, id string) {
			d.replyTo(id, "why does it want to approve this?", "1", false)
			d.reaction(id, "🎉", "1")
			d.replyTo("1234", "yes", "1", false) // to another message
			d.reaction("1234", "✅", "1")         // under another message
			d.replyTo(id, "yes", "77", true)     // a bot
			d.reaction(id, "✅", botID)           // this bot
			d.reaction(id, "❌", "1")
		}, chorus.Answer{By: "1", Detail: "User denied"}, "Denied by <@1>."},
		{"a stranger, then the requester", nil, func(d *standin, id string) {
			d.reaction(id, "✅", "2", "12")
			d.reaction(id, "✅", "2", "12")
			d.reaction(id, "❌", "1")
		}, chorus.Answer{By: "1", Detail: "User denied"}, "Denied by <@1>."},
		{"an administrator", nil, func(d *standin, id string) { d.reaction(id, "✅", "2", "13") }, chorus.Answer{Approved: true, By: "2"}, "Approved by <@2>."},
		{"a role that is called like one", nil, func(d *standin, id string) {
			d.reaction(id, "✅", "2", "14")
			d.reaction(id, "❌", "1")
		}, chorus.Answer{By: "1", Detail: "User denied"}, "Denied by <@1>."},
		{"a role", []string{"lead"}, func(d *standin, id string) {
			d.reaction(id, "✅", "1", "12")
			d.reaction(id, "✅", "5", "12", "11")
		}, chorus.Answer{Approved: true, By: "5"}, "Approved by <@5>."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, d := ask(t, chorus.Options{Approvers: tc.approvers}, tc.people)
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
			all := d.all()
			if !slices.Equal(all[0].Reactions, []string{"✅", "❌"}) {
				t.Errorf("reactions %q", all[0].Reactions)
			}
			if last := all[len(all)-1]; last.Content != tc.last || last.ReplyTo != all[0].ID {
				t.Errorf("ended with %+v, want %q", last, tc.last)
			}
			for _, p := range all {
				if p.Mentions == nil || len(*p.Mentions) != 0 {
					t.Errorf("%q may mention %v", p.Content, p.Mentions)
				}
			}
			if strings.Contains(tc.name, "stranger") && (len(all) != 3 || !strings.Contains(all[1].Content, "<@2> only whoever started this session")) {
				t.Errorf("the stranger was told %+v", all)
			}
			if d.identify.Token != token || d.identify.Intents != int(chorusdiscord.Intents) {
				t.Errorf("identified as %+v", d.identify)
			}
		})
	}
}

// The document's prompt, shown as it is.
func TestMessage(t *testing.T) {
	_, d := ask(t, chorus.Options{}, func(d *standin, id string) { d.reaction(id, "❌", "1") })
	want := "```\nAgent wants to execute:\n  bash: rm -rf node_modules && npm install\n\nAction: tool:bash:rm -rf node_modules && npm install\n\nReact with checkmark to approve or X to deny.\n```"
	if got := d.all()[0].Content; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// An action that is too long for a message, or that would break out of its
// block, is shown whole all the same.
func TestLongAndHostileActions(t *testing.T) {
	d, s := newStandin(t)
	d.onReact = func(id string) { d.reaction(id, "❌", "1") }
	ch, err := chorusdiscord.New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer ch.Close()
	long := "echo " + strings.Repeat("x", 5000) + "; rm -rf /"
	if a := confirm(t, chorus.Options{}, ch, long); a.Detail != "User denied" {
		t.Errorf("%+v", a)
	}
	first := d.all()[0]
	if !strings.Contains(first.File, "; rm -rf /") || !strings.Contains(first.Content, "read the file before you answer") {
		t.Errorf("posted %q with the file %q", first.Content, first.File)
	}
	if a := confirm(t, chorus.Options{}, ch, "echo ```\n||hidden||"); a.Detail != "User denied" {
		t.Errorf("%+v", a)
	}
	last := d.all()[2]
	if strings.Count(last.Content, "```") != 2 || !strings.HasSuffix(last.Content, "\n```") {
		t.Errorf("posted %q", last.Content)
	}
}

// A reaction that is faster than Discord's answer to the post is not lost.
func TestEarlyReaction(t *testing.T) {
	d, s := newStandin(t)
	ch, err := chorusdiscord.New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer ch.Close()
	seen := make(chan struct{})
	remove := s.AddHandler(func(_ *discordgo.Session, e *discordgo.MessageReactionAdd) {
		if e.UserID == "1" {
			close(seen)
		}
	})
	defer remove()
	d.onPost = func(p *posted) {
		d.reaction(p.ID, "✅", "1")
		<-seen // the bot has the event, and does not know the message yet
	}
	if a := confirm(t, chorus.Options{}, ch, "ls"); !a.Approved {
		t.Errorf("%+v", a)
	}
}

// Silence denies, and so does whatever Discord refuses.
func TestNoAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		broken string
		people func(d *standin, id string)
		detail string
	}{
		"silence":          {"", func(*standin, string) {}, "Timed out after 50ms"},
		"no post":          {"POST /api/v9/channels/200/messages", nil, "asking failed"},
		"no reactions":     {"PUT /api/v9/channels/200/messages/300/reactions/✅/@me", nil, "asking failed"},
		"roles not looked": {"GET /api/v9/guilds/100", func(d *standin, id string) { d.reaction(id, "✅", "1") }, "asking failed"},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := newStandin(t)
			d.broken[tc.broken] = true
			if tc.people != nil {
				d.onReact = func(id string) { tc.people(d, id) }
			}
			ch, err := chorusdiscord.New(s)
			if err != nil {
				t.Fatal(err)
			}
			defer ch.Close()
			var opts chorus.Options
			if name == "silence" {
				opts.Timeout = 50 * time.Millisecond
			}
			if a := confirm(t, opts, ch, "ls"); a.Approved || a.Detail != tc.detail {
				t.Errorf("%+v, want %s", a, tc.detail)
			}
		})
	}
	if _, err := chorusdiscord.New(nil); err == nil {
		t.Error("New took no session")
	}
}

// Discord says wait; the question is asked all the same.
func TestRateLimit(t *testing.T) {
	d, s := newStandin(t)
	d.limited = 2
	d.onReact = func(id string) { d.reaction(id, "✅", "1") }
	ch, err := chorusdiscord.New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer ch.Close()
	if a := confirm(t, chorus.Options{}, ch, "ls"); !a.Approved {
		t.Errorf("%+v", a)
	}
}

type rows []chorus.Row

func (r *rows) Record(_ context.Context, row chorus.Row) error {
	*r = append(*r, row)
	return nil
}

// The whole way: files, gate, Discord, audit table, ledger.
func TestGateOnDiscord(t *testing.T) {
	d, s := newStandin(t)
	d.onReact = func(id string) {
		for _, p := range d.all() {
			if p.ID == id {
				emoji := "❌"
				if strings.Contains(p.Content, "npm") {
					emoji = "✅"
				}
				d.reaction(id, emoji, "5", "11")
			}
		}
	}
	ch, err := chorusdiscord.New(s)
	if err != nil {
		t.Fatal(err)
	}
	defer ch.Close()
	in := &dialect.Input{Files: []dialect.File{{Name: "config.json", Data: []byte(`{"permissions": "standard", "confirmation": {"approver_roles": ["lead"]}, "permission_grants": {"admin": ["open"]}}`)}}}
	settings, errs := profile.Load(in)
	if errs != nil {
		t.Fatal(errs)
	}
	g, err := s.Guild(guildID)
	if err != nil {
		t.Fatal(err)
	}
	if missing := settings.CheckRoles(chorusdiscord.RoleNames(g)); len(missing) != 1 || !strings.Contains(missing[0].Msg, `no role "admin"`) {
		t.Errorf("%v", missing)
	}
	l, err := dialect.Load(profile.Dialect{}, in)
	if err != nil {
		t.Fatal(err)
	}
	audit, store := &rows{}, new(memory.Store)
	h, err := chorus.Open(t.Context(), chorus.Options{Channel: ch, Audit: audit, Gate: gate.Options{Policy: gate.Fixed{Loaded: l}, Store: store},
		Timeout: settings.Timeout, Approvers: settings.Approvers})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var calls []*obstat.Call
	for _, command := range []string{"rm -rf x", "npm test"} {
		input, _ := json.Marshal(map[string]string{"command": command})
		calls = append(calls, &obstat.Call{Tool: "bash", Input: input, Agent: "frontend", User: "1", Channel: channel, Dir: "/ws"})
	}
	results := h.CheckAll(t.Context(), calls)
	if results[0].Allowed || !results[1].Allowed {
		t.Errorf("%+v", results)
	}
	var words []string
	for _, r := range *audit {
		words = append(words, r.Decision+" "+r.Detail)
	}
	if !slices.Equal(words, []string{"ask_denied User denied", "ask_approved Approved by 5"}) {
		t.Errorf("%q", words)
	}
	for row, err := range chorus.Rows(store.Records(t.Context(), ledger.Query{})) {
		if err != nil || !strings.HasPrefix(row.Decision, "ask_") || row.ActionString != "tool:bash:rm -rf x" && row.ActionString != "tool:bash:npm test" {
			t.Errorf("the ledger has %+v, %v", row, err)
		}
	}
}

func TestRoles(t *testing.T) {
	g := &discordgo.Guild{ID: "100", OwnerID: "1", Roles: []*discordgo.Role{{ID: "100", Name: "@everyone"}, {ID: "11", Name: "lead"}, {ID: "13", Name: "root", Permissions: discordgo.PermissionAdministrator}, {ID: "14", Name: profile.RoleAdministrator}}}
	for _, tc := range []struct {
		user  string
		roles []string
		want  []string
	}{
		{"2", nil, nil},
		{"2", []string{"11"}, []string{"lead"}},
		{"2", []string{"13"}, []string{"root", profile.RoleAdministrator}},
		{"2", []string{"14"}, nil},
		{"1", nil, []string{profile.RoleAdministrator}},
	} {
		if got := chorusdiscord.Roles(g, &discordgo.Member{User: &discordgo.User{ID: tc.user}, Roles: tc.roles}); !slices.Equal(got, tc.want) {
			t.Errorf("%s with %q: %q, want %q", tc.user, tc.roles, got, tc.want)
		}
	}
	if chorusdiscord.Roles(nil, nil) != nil || chorusdiscord.Roles(g, &discordgo.Member{}) != nil {
		t.Error("nobody has roles")
	}
}
