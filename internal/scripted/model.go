package scripted

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Call is one tool call that the model makes, in the words of the agent.
type Call struct {
	Tool      string
	Namespace string         // where an agent groups its tools
	Args      map[string]any // nil for a tool that takes text
	Text      string         // the input of a tool that takes text
	// Joined: made in the same turn as the call before it, without waiting for its
	// result.
	Joined bool

	id string // the model's name for this call
}

// A Script lists the model's calls, one after the other, by the marker that a
// prompt contains.
type Script map[string][]Call

// The markers of the agent itself and of a subagent.
const (
	MainMarker = "MAIN-SCRIPT"
	SubMarker  = "SUB-SCRIPT"
)

// Prompt is the prompt that makes the model follow the list of a marker.
func Prompt(marker string) string { return "Please run the " + marker + "." }

// A Model is a model server on the loopback interface. It remembers nothing
// between requests: which call is next is read off the conversation that it is
// sent.
type Model struct {
	script Script
	Dump   string // where requests are kept to look at, "" nowhere
	// before, if any, is called before the model asks for a call of the main list.
	before func(call int)
	// Verdict is the word of an agent's own reviewer, which is put to the same model: `flagged`, in the
	// field of Claude Code's classifier, or the whole answer of Codex's reviewer. "" says nothing.
	Verdict  string
	reviewed atomic.Int32 // how often the reviewer was asked
	server   *http.Server
	addr     string

	mu      sync.Mutex
	results map[string][]string
	odd     []string
	seen    int
	said    time.Time       // when the last turn was sent
	took    []time.Duration // by the agent, from a turn to the next request
}

// New starts a server; Close ends it.
func New(script Script) (*Model, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &Model{script: script, addr: ln.Addr().String(), results: map[string][]string{}}
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = m.server.Serve(ln) }()
	return m, nil
}

// Idle returns a model that serves nothing, for settings that only name one.
func Idle() *Model { return &Model{addr: "127.0.0.1:0"} }

// URL is where the server is, without a slash at the end.
func (m *Model) URL() string { return "http://" + m.addr }

// Notify has a function called before the model asks for a call of the main list.
func (m *Model) Notify(before func(call int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

// Close ends the server and all its connections.
func (m *Model) Close() error { return m.server.Close() }

// Results returns the results that the agent has sent back for the calls of a
// marker's list.
func (m *Model) Results(marker string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.results[marker]
}

// Odd returns the requests that were not understood.
func (m *Model) Odd() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.odd
}

// A conversation is the history that a request carries.
type conversation struct {
	user    []string // messages to the model
	results []string // of tools
}

// A wire is one of the forms in which models are talked to.
type wire interface {
	read(body []byte) (*conversation, error)
	// write sends the model's turn.
	write(w io.Writer, t *turn) error
}

// A turn is the model's answer: calls, or words where there are none.
type turn struct {
	id      string
	calls   []*Call
	words   string
	verdict string // see Model
}

// wireOf chooses the form by the request's path.
func wireOf(path string) wire {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini{}
	}
	return nil
}

// maxRequest bounds a request; agents send their whole instructions each time.
const maxRequest = 32 << 20

// ServeHTTP answers one request of an agent.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	m.keep(body)
	form := wireOf(r.URL.Path)
	if err != nil || form == nil || r.Method != http.MethodPost {
		m.note(r, "no such thing")
		http.Error(w, `{"error":{"message":"there is no such thing here","type":"not_found_error"}}`, http.StatusNotFound)
		return
	}
	c, err := form.read(body)
	if err != nil {
		m.note(r, err.Error())
		http.Error(w, `{"error":{"message":"the request cannot be read","type":"invalid_request_error"}}`,
			http.StatusBadRequest)
		return
	}
	marker, calls := m.next(c)
	t := &turn{id: CallID(marker, len(c.results)), calls: calls, words: LastWords, verdict: m.Verdict}
	if reviews(body) {
		m.reviewed.Add(1)
		t.calls, t.words = nil, m.Verdict
		w.Header().Set("Content-Type", "text/event-stream")
		_ = form.write(w, t)
		return
	}
	m.clock(marker, len(c.results) > 0)
	defer m.clock(marker, false)
	m.tell(marker, len(c.results))
	w.Header().Set("Content-Type", "text/event-stream")
	_ = form.write(w, t)
}

// clock notes the time of a turn of the main list, and how long the agent took for the call
// before it.
func (m *Model) clock(marker string, heard bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if marker == MainMarker && heard {
		m.took = append(m.took, time.Since(m.said))
	}
	m.said = time.Now()
}

// Reviewed returns how often the agent's own reviewer was asked.
func (m *Model) Reviewed() int { return int(m.reviewed.Load()) }

// Hear has the model take a conversation for one that an agent has sent.
func (m *Model) Hear(user string, results ...string) []*Call {
	marker, calls := m.next(&conversation{user: []string{user}, results: results})
	m.tell(marker, len(results))
	return calls
}

// tell says that the model is about to ask for a call of the main list.
func (m *Model) tell(marker string, call int) {
	m.mu.Lock()
	before := m.before
	m.mu.Unlock()
	if before != nil && marker == MainMarker {
		before(call)
	}
}

// Took returns how long the agent took for each call of the main list.
func (m *Model) Took() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.took
}

// keep writes a request to the dump, for reading an agent's wire form.
func (m *Model) keep(body []byte) {
	if m.Dump == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen++
	_ = os.WriteFile(filepath.Join(m.Dump, fmt.Sprintf("request-%02d.json", m.seen)), body, 0o600)
}

func (m *Model) note(r *http.Request, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.odd = append(m.odd, fmt.Sprintf("%s %s: %s", r.Method, r.URL.Path, why))
}

// CallID is the model's name for the call at a place of a marker's list.
func CallID(marker string, at int) string {
	return fmt.Sprintf("call_%s_%d", strings.ToLower(marker), at)
}

// titled are requests for a name for the conversation, which quote its prompt: on a terminal, agents make
// them on the side.
var titled = regexp.MustCompile(`(?i)(generate|write|create) .{0,60}\btitle\b`)

// Reviewing is in the instructions of Codex's reviewer, which judges a call of the main list that it quotes.
const Reviewing = "You are judging one planned coding-agent action"

// reviews tells whether a request is for a reviewer's verdict on a call.
func reviews(body []byte) bool { return bytes.Contains(body, []byte(Reviewing)) }

// next chooses the model's turn: the list of the marker that was said last, and
// in it the call after those that have been answered, with those joined to it.
func (m *Model) next(c *conversation) (marker string, calls []*Call) {
	for _, text := range c.user {
		if titled.MatchString(text) {
			return "", nil
		}
		at := -1
		for name := range m.script {
			if i := strings.LastIndex(text, name); i > at {
				at, marker = i, name
			}
		}
	}
	list, turn := m.script[marker], len(c.results)
	m.mu.Lock()
	if turn > len(m.results[marker]) {
		m.results[marker] = c.results
	}
	m.mu.Unlock()
	for at := turn; at < len(list) && (at == turn || list[at].Joined); at++ {
		call := list[at].filled(c.results)
		call.id = CallID(marker, at)
		calls = append(calls, call)
	}
	return marker, calls
}

// LastID in the arguments of a call stands for the identifier in the result of the
// call before it.
const LastID = "LAST-ID"

var identifier = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func (c Call) filled(results []string) *Call {
	if len(results) == 0 || c.Args == nil {
		return &c
	}
	id := identifier.FindString(results[len(results)-1])
	args := make(map[string]any, len(c.Args))
	for k, v := range c.Args {
		if list, ok := v.([]string); ok && len(list) == 1 && list[0] == LastID {
			v = []string{id}
		}
		args[k] = v
	}
	c.Args = args
	return &c
}
