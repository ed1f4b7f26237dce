package opencode

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// HandlerOptions are for [NewHandler]; nil means the zero value.
type HandlerOptions struct {
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
//	GET  /event                                    a stream of events
//
// Who may speak to it is for the server to say that mounts it. A reply has to
// come as JSON and not from a page of another site, which a browser would send
// along with whatever lets its user in.
func NewHandler(i *Instance, opts *HandlerOptions) http.Handler {
	h := &handler{in: i}
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
	in   *Instance
	opts HandlerOptions
}

// elsewhere tells whether a request is for another instance: one of another
// directory, where nothing is found.
func (h *handler) elsewhere(r *http.Request) bool {
	dir := r.URL.Query().Get("directory")
	return dir != "" && dir != h.in.opts.Directory
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	out := []Request{}
	if !h.elsewhere(r) {
		pending, err := h.in.Pending(r.Context())
		if err != nil {
			writeError(w, http.StatusInternalServerError, "UnknownError", map[string]string{"message": err.Error()})
			return
		}
		out = append(out, pending...)
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
		err = &NotFoundError{RequestID: id}
	} else {
		err = h.in.ReplyIn(r.Context(), session, id, reply, message)
	}
	var missing *NotFoundError
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
func readReply(r *http.Request, field string) (Reply, string, error) {
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
	return Reply(n.Get(field).Str), message, nil
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

// events streams asks and replies, as server-sent events.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache, no-transform")
	head.Set("X-Accel-Buffering", "no")
	head.Set("X-Content-Type-Options", "nosniff")
	sub := h.in.Subscribe()
	defer sub.Cancel()
	beat := time.NewTicker(h.opts.Heartbeat)
	defer beat.Stop()
	ctl := http.NewResponseController(w)
	ctl.SetWriteDeadline(time.Time{}) // a stream has no end; a server without deadlines has none to lift
	send := func(e Event) bool {
		if e.ID == "" {
			e.ID = newEventID()
		}
		data, err := json.Marshal(e)
		if err != nil {
			return false
		}
		_, err = w.Write(append(append([]byte("data: "), data...), "\n\n"...))
		return err == nil && ctl.Flush() == nil
	}
	ok := send(Event{Type: "server.connected", Properties: struct{}{}})
	for ok {
		select {
		case e, open := <-sub.Events():
			ok = open && (h.elsewhere(r) || send(e))
		case <-beat.C:
			ok = send(Event{Type: "server.heartbeat", Properties: struct{}{}})
		case <-r.Context().Done():
			return
		}
	}
}
