// Package opencodehttp serves opencode's HTTP surface about permissions on a
// broker of asks.
//
// It owns routes, bodies and the stream of events. It decides nothing, and who
// may speak to it is for the server to say that mounts it.
package opencodehttp

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// HandlerOptions are for [NewHandler]; nil means the zero value.
type HandlerOptions struct {
	// Directory is the instance's: a request for another one finds nothing.
	// Zero: requests for any directory are answered.
	Directory string
	// Heartbeat is how often a quiet stream of events says that it is alive.
	// Zero: ten seconds.
	Heartbeat time.Duration
}

// maxBody bounds the body of a reply.
const maxBody = 64 << 10

// NewHandler returns the part of opencode's HTTP surface that is about
// permissions:
//
//	GET  /permission                               the requests that wait
//	POST /permission/{requestID}/reply             {"reply", "message"}
//	POST /session/{sessionID}/permissions/{id}     {"response"}, the older form
//	GET  /event                                    a stream of what happens
//
// Who may speak to it is for the server to say that mounts it. A reply has to
// come as JSON and not from a page of another site, which a browser would send
// along with whatever lets its user in.
func NewHandler(b *opencode.Broker, opts *HandlerOptions) http.Handler {
	h := &handler{broker: b}
	if opts != nil {
		h.opts = *opts
	}
	if h.opts.Heartbeat <= 0 {
		h.opts.Heartbeat = 10 * time.Second
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /permission", h.list)
	mux.HandleFunc("POST /permission/{requestID}/reply", h.reply)
	mux.HandleFunc("POST /session/{sessionID}/permissions/{requestID}", h.respond)
	mux.HandleFunc("GET /event", h.events)
	return mux
}

type handler struct {
	broker *opencode.Broker
	opts   HandlerOptions
}

// elsewhere tells whether a request is for another instance.
func (h *handler) elsewhere(r *http.Request) bool {
	dir := r.URL.Query().Get("directory")
	return dir != "" && h.opts.Directory != "" && dir != h.opts.Directory
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	out := []opencode.Request{}
	if !h.elsewhere(r) {
		out = append(out, h.broker.Pending()...)
	}
	writeJSON(w, http.StatusOK, out)
}

func (h *handler) reply(w http.ResponseWriter, r *http.Request) {
	h.answer(w, r, "", "reply")
}

func (h *handler) respond(w http.ResponseWriter, r *http.Request) {
	h.answer(w, r, r.PathValue("sessionID"), "response")
}

// answer reads a reply from a field of the body and gives it. Where a session is
// named the request has to be its own.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, session, field string) {
	id := r.PathValue("requestID")
	if status, msg := refused(r); status != 0 {
		writeError(w, status, "BadRequest", map[string]string{"message": msg})
		return
	}
	reply, message, err := readReply(r, field)
	if err != nil {
		writeError(w, http.StatusBadRequest, "BadRequest", map[string]string{"message": err.Error()})
		return
	}
	if h.elsewhere(r) {
		err = &opencode.NotFoundError{RequestID: id}
	} else {
		err = h.broker.ReplyIn(session, id, reply, message)
	}
	var missing *opencode.NotFoundError
	switch {
	case errors.As(err, &missing):
		writeError(w, http.StatusNotFound, "PermissionNotFoundError", map[string]string{"requestID": id, "message": missing.Error()})
	case err != nil:
		writeError(w, http.StatusBadRequest, "BadRequest", map[string]string{"message": err.Error()})
	default:
		writeJSON(w, http.StatusOK, true)
	}
}

// refused tells why a reply is not taken, whatever it says.
func refused(r *http.Request) (status int, msg string) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, "a reply comes as application/json"
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return http.StatusForbidden, "a reply does not come from a page of another site"
	}
	return 0, ""
}

// readReply reads a reply, strictly.
func readReply(r *http.Request, field string) (opencode.Reply, string, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return "", "", err
	}
	if len(data) > maxBody {
		return "", "", errors.New("the body is too large")
	}
	n, problems := jsonx.Parse(data, jsonx.Options{})
	problems = append(problems, n.Check(tree.Field{Name: field, Kinds: []tree.Kind{tree.String}, Required: true}, tree.Field{Name: "message", Kinds: []tree.Kind{tree.String}})...)
	if tree.Fatal(problems) {
		return "", "", problems[0]
	}
	if !n.Is(tree.Object) {
		return "", "", errors.New("the body is no object")
	}
	message := ""
	if m := n.Get("message"); m != nil {
		message = m.Str
	}
	return opencode.Reply(n.Get(field).Str), message, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"message":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body) // whoever is gone does not read an error either
}

// writeError writes an error as the program does: its name and its fields.
func writeError(w http.ResponseWriter, status int, name string, fields map[string]string) {
	body := map[string]any{"_tag": name, "name": name}
	for k, v := range fields {
		body[k] = v
	}
	writeJSON(w, status, body)
}

// events streams what happens, as server-sent events.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache, no-transform")
	head.Set("X-Accel-Buffering", "no")
	head.Set("X-Content-Type-Options", "nosniff")
	sub := h.broker.Subscribe()
	defer sub.Cancel()
	beat := time.NewTicker(h.opts.Heartbeat)
	defer beat.Stop()
	ctl := http.NewResponseController(w)
	ctl.SetWriteDeadline(time.Time{}) // a stream has no end; a server without deadlines has none to lift
	send := func(e opencode.Event) bool {
		if e.ID == "" {
			e.ID = opencode.NewEventID()
		}
		data, err := json.Marshal(e)
		if err != nil {
			return false
		}
		_, err = w.Write(append(append([]byte("data: "), data...), "\n\n"...))
		return err == nil && ctl.Flush() == nil
	}
	ok := send(opencode.Event{Type: "server.connected", Properties: struct{}{}})
	for ok {
		select {
		case e, open := <-sub.Events():
			ok = open && (h.elsewhere(r) || send(e))
		case <-beat.C:
			ok = send(opencode.Event{Type: "server.heartbeat", Properties: struct{}{}})
		case <-r.Context().Done():
			return
		}
	}
}
