package chorusdiscord_test

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"github.com/obstat/obstat/chorusdiscord"
)

const (
	token   = "Bot secret-token"
	botID   = "900"
	guildID = "100"
	channel = "200"
)

// A standin is Discord on the loopback: its gateway (hello, identify, ready,
// heartbeats, dispatches with sequence numbers) and the part of its REST API
// that the channel uses.
type standin struct {
	t   *testing.T
	srv *httptest.Server

	mu       sync.Mutex
	ws       *websocket.Conn
	seq      int
	messages []*posted
	identify struct {
		Token   string `json:"token"`
		Intents int    `json:"intents"`
	}
	limited int             // requests that are first answered with 429
	broken  map[string]bool // method and path that fail
	onPost  func(p *posted) // what people do when a message appears
	onReact func(id string) // what people do when the bot's cross is there
}

// A posted message.
type posted struct {
	ID        string
	Content   string
	Mentions  *[]string // allowed to be parsed
	ReplyTo   string
	File      string
	Reactions []string
}

// newStandin starts the stand-in and opens a session with it.
func newStandin(t *testing.T) (*standin, *discordgo.Session) {
	t.Helper()
	d := &standin{t: t, broken: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v9/gateway", d.rest(d.gateway))
	mux.HandleFunc("GET /ws/", d.serveGateway)
	mux.HandleFunc("POST /api/v9/channels/{channel}/messages", d.rest(d.post))
	mux.HandleFunc("PUT /api/v9/channels/{channel}/messages/{message}/reactions/{emoji}/@me", d.rest(d.react))
	mux.HandleFunc("GET /api/v9/guilds/{guild}", d.rest(d.guild))
	d.srv = httptest.NewServer(mux)
	t.Cleanup(d.srv.Close)
	s, err := discordgo.New(token)
	if err != nil {
		t.Fatal(err)
	}
	s.Client = &http.Client{Transport: toStandin{d.srv.URL}}
	s.Identify.Intents = chorusdiscord.Intents
	s.SyncEvents = true // in the order they come, so that a test can tell who was first
	s.ShouldReconnectOnError = false
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	// Ending the connection from this side ends the session; its own Close waits
	// a second for nothing.
	t.Cleanup(func() { d.ws.Close() })
	return d, s
}

// toStandin sends what is meant for Discord to the stand-in.
type toStandin struct{ url string }

func (to toStandin) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "discord.com" || r.URL.Scheme != "https" {
		return nil, fmt.Errorf("a request to %s", r.URL)
	}
	u, err := url.Parse(to.url)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = u.Scheme, u.Host
	return http.DefaultTransport.RoundTrip(r)
}

// rest checks what Discord checks of every request.
func (d *standin) rest(f func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != token {
			http.Error(w, `{"message": "401: Unauthorized", "code": 0}`, http.StatusUnauthorized)
			return
		}
		d.mu.Lock()
		limited, broken := d.limited > 0, d.broken[r.Method+" "+r.URL.Path]
		if limited {
			d.limited--
		}
		d.mu.Unlock()
		switch {
		case limited:
			http.Error(w, `{"message": "You are being rate limited.", "retry_after": 0.001, "global": false}`, http.StatusTooManyRequests)
		case broken:
			http.Error(w, `{"message": "Missing Permissions", "code": 50013}`, http.StatusForbidden)
		default:
			f(w, r)
		}
	}
}

func (d *standin) gateway(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprintf(w, `{"url": "ws%s/ws/"}`, strings.TrimPrefix(d.srv.URL, "http"))
}

// serveGateway speaks the gateway's protocol.
func (d *standin) serveGateway(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Get("v") != "9" || q.Get("encoding") != "json" {
		d.t.Errorf("gateway opened with %s", r.URL.RawQuery)
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer ws.Close()
	_ = ws.WriteMessage(websocket.TextMessage, []byte(`{"op": 10, "d": {"heartbeat_interval": 41250}}`))
	for {
		var m struct {
			Op int             `json:"op"`
			D  json.RawMessage `json:"d"`
		}
		if err := ws.ReadJSON(&m); err != nil {
			return
		}
		switch m.Op {
		case 1:
			d.mu.Lock()
			_ = ws.WriteMessage(websocket.TextMessage, []byte(`{"op": 11}`))
			d.mu.Unlock()
		case 2:
			d.mu.Lock()
			err := json.Unmarshal(m.D, &d.identify)
			d.ws = ws
			d.mu.Unlock()
			if err != nil {
				d.t.Error(err)
			}
			d.dispatch("READY", map[string]any{"v": 9, "session_id": "s", "user": map[string]any{"id": botID, "username": "chorus", "bot": true},
				"guilds": []any{map[string]any{"id": guildID, "unavailable": true}}})
		}
	}
}

// dispatch sends an event to the bot.
func (d *standin) dispatch(event string, data any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq++
	if err := d.ws.WriteJSON(map[string]any{"op": 0, "s": d.seq, "t": event, "d": data}); err != nil {
		d.t.Error(err)
	}
}

func (d *standin) post(w http.ResponseWriter, r *http.Request) {
	p, err := readMessage(r)
	if err != nil {
		d.t.Error(err)
	}
	if n := len([]rune(p.Content)); n == 0 || n > 2000 {
		http.Error(w, `{"message": "Invalid Form Body", "code": 50035}`, http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	p.ID = fmt.Sprint(300 + len(d.messages))
	d.messages = append(d.messages, p)
	hook := d.onPost
	d.mu.Unlock()
	if hook != nil && p.ReplyTo == "" {
		hook(p)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"id": p.ID, "channel_id": r.PathValue("channel"), "content": p.Content})
}

// readMessage reads a message from JSON, or from a form with a file.
func readMessage(r *http.Request) (*posted, error) {
	p := &posted{}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return p, err
	}
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		return p, err
	}
	if kind == "multipart/form-data" {
		form, err := multipart.NewReader(strings.NewReader(string(payload)), params["boundary"]).ReadForm(1 << 20)
		if err != nil {
			return p, err
		}
		payload = []byte(form.Value["payload_json"][0])
		for _, files := range form.File {
			f, err := files[0].Open()
			if err != nil {
				return p, err
			}
			text, err := io.ReadAll(f)
			if err != nil {
				return p, err
			}
			p.File = string(text)
		}
	}
	var m struct {
		Content         string
		AllowedMentions struct {
			Parse *[]string `json:"parse"`
		} `json:"allowed_mentions"`
		Reference *struct {
			MessageID string `json:"message_id"`
		} `json:"message_reference"`
	}
	err = json.Unmarshal(payload, &m)
	p.Content, p.Mentions = m.Content, m.AllowedMentions.Parse
	if m.Reference != nil {
		p.ReplyTo = m.Reference.MessageID
	}
	return p, err
}

// react puts the bot's reaction under a message, and Discord tells the bot.
func (d *standin) react(w http.ResponseWriter, r *http.Request) {
	id, emoji := r.PathValue("message"), r.PathValue("emoji")
	d.mu.Lock()
	for _, p := range d.messages {
		if p.ID == id {
			p.Reactions = append(p.Reactions, emoji)
		}
	}
	hook := d.onReact
	d.mu.Unlock()
	d.reaction(id, emoji, botID)
	w.WriteHeader(http.StatusNoContent)
	if hook != nil && emoji == "❌" {
		hook(id)
	}
}

func (d *standin) guild(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, `{"id": %q, "name": "server", "owner_id": "1", "roles": [
		{"id": %q, "name": "@everyone", "permissions": "0"},
		{"id": "11", "name": "lead", "permissions": "0"},
		{"id": "12", "name": "developer", "permissions": "0"},
		{"id": "13", "name": "root", "permissions": "8"},
		{"id": "14", "name": "discord:permission:administrator", "permissions": "0"}]}`, r.PathValue("guild"), r.PathValue("guild"))
}

func member(user string, bot bool, roles ...string) map[string]any {
	return map[string]any{"user": map[string]any{"id": user, "username": "u" + user, "bot": bot}, "roles": append([]string{}, roles...)}
}

// reaction tells the bot that somebody reacted.
func (d *standin) reaction(message, emoji, user string, roles ...string) {
	d.dispatch("MESSAGE_REACTION_ADD", map[string]any{"user_id": user, "message_id": message, "channel_id": channel, "guild_id": guildID,
		"emoji": map[string]any{"id": nil, "name": emoji}, "member": member(user, user == botID, roles...)})
}

// replyTo tells the bot that somebody replied.
func (d *standin) replyTo(message, text, user string, bot bool, roles ...string) {
	m := member(user, bot, roles...)
	author := m["user"]
	delete(m, "user") // Discord leaves it out here
	d.dispatch("MESSAGE_CREATE", map[string]any{"id": "999", "channel_id": channel, "guild_id": guildID, "content": text, "author": author, "member": m,
		"message_reference": map[string]any{"message_id": message, "channel_id": channel, "guild_id": guildID}})
}

func (d *standin) all() []posted {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []posted
	for _, p := range d.messages {
		out = append(out, *p)
	}
	return out
}
