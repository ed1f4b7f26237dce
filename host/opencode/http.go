package opencode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A Board has the requests that opencode's clients list and answer: an [Instance], or a server
// with the requests of many agents.
type Board interface {
	// Listed returns the requests of a directory that wait, oldest first; "" is any directory.
	Listed(ctx context.Context, directory string) ([]Request, error)
	// Answer answers a request, or returns a [NotFoundError].
	Answer(ctx context.Context, to Target, reply Reply, message string) error
	// Subscribe returns a subscription to all events from now on.
	Subscribe() *Subscription
}

// A Target names a request. It is not found where it is of another directory or session; "" is
// any.
type Target struct{ ID, Session, Directory string }

// HandlerOptions are for [NewHandler]; nil means the zero value.
type HandlerOptions struct {
	// Heartbeat is how often a quiet stream of events says that it is alive.
	// Zero: ten seconds.
	Heartbeat time.Duration
	// Fail writes an error of the board that is no [NotFoundError]; nil: as the program does.
	Fail func(w http.ResponseWriter, err error)
}

// maxBody bounds the body of a reply, and writeLimit the time that one write to a stream takes.
const (
	maxBody    = 64 << 10
	writeLimit = 10 * time.Second
)

// NewHandler returns the part of opencode's HTTP surface that is about
// permissions:
//
//	GET  /permission                               the requests that wait
//	POST /permission/{id}/reply                    {"reply", "message"}
//	POST /session/{session}/permissions/{id}       {"response"}, the older form
//	GET  /event                                    a stream of events
//
// The server that mounts it checks its callers. A reply has to come as JSON and not from a
// page of another site: a browser would send its user's cookie along.
func NewHandler(b Board, opts *HandlerOptions) http.Handler {
	h := &handler{board: b}
	if opts != nil {
		h.opts = *opts
	}
	if h.opts.Heartbeat <= 0 {
		h.opts.Heartbeat = 10 * time.Second
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /permission", h.list)
	mux.HandleFunc("POST /permission/{id}/reply", h.answer("reply"))
	mux.HandleFunc("POST /session/{session}/permissions/{id}", h.answer("response"))
	mux.HandleFunc("GET /event", h.events)
	return mux
}

type handler struct {
	board Board
	opts  HandlerOptions
}

func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	pending, err := h.board.Listed(r.Context(), r.URL.Query().Get("directory"))
	if err != nil {
		h.fail(w, err, http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusOK, append([]Request{}, pending...))
}

// answer reads a reply from a field of the body and gives it.
func (h *handler) answer(field string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		to := Target{r.PathValue("id"), r.PathValue("session"), r.URL.Query().Get("directory")}
		if status, msg := refused(r); status != 0 {
			writeError(w, status, "BadRequest", map[string]string{"message": msg})
			return
		}
		reply, message, err := readReply(r, field)
		if err != nil {
			writeError(w, http.StatusBadRequest, "BadRequest", map[string]string{"message": err.Error()})
			return
		}
		if err := h.board.Answer(r.Context(), to, reply, message); err != nil {
			h.fail(w, err, http.StatusBadRequest)
			return
		}
		writeJSON(w, http.StatusOK, true)
	}
}

// fail writes an error of the board.
func (h *handler) fail(w http.ResponseWriter, err error, status int) {
	var missing *NotFoundError
	switch name := map[int]string{http.StatusBadRequest: "BadRequest"}[status]; {
	case errors.As(err, &missing):
		writeError(w, http.StatusNotFound, "PermissionNotFoundError", map[string]string{"requestID": missing.RequestID,
			"message": missing.Error()})
	case h.opts.Fail != nil:
		h.opts.Fail(w, err)
	default:
		writeError(w, status, cmp.Or(name, "UnknownError"), map[string]string{"message": err.Error()})
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
	texts := []tree.Kind{tree.String}
	problems = append(problems, n.Check(tree.Field{Name: field, Kinds: texts, Required: true},
		tree.Field{Name: "message", Kinds: texts})...)
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

// Check returns an error for a reply that is none.
func (r Reply) Check() error {
	if r != Once && r != Always && r != Reject {
		return fmt.Errorf("a reply is once, always or reject, not %q", r)
	}
	return nil
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
	_, _ = w.Write(body) // a client that is gone reads no error
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
	sub := h.board.Subscribe()
	defer sub.Cancel()
	beat := time.NewTicker(h.opts.Heartbeat)
	defer beat.Stop()
	ctl := http.NewResponseController(w)
	send := func(e Event) bool {
		if e.ID == "" {
			e.ID = newEventID()
		}
		data, err := json.Marshal(e)
		if err != nil {
			return false
		}
		_ = ctl.SetWriteDeadline(time.Now().Add(writeLimit)) // a server without deadlines has none to set
		_, err = w.Write(append(append([]byte("data: "), data...), "\n\n"...))
		return err == nil && ctl.Flush() == nil
	}
	dir := r.URL.Query().Get("directory")
	ok := send(Event{Type: "server.connected", Properties: struct{}{}})
	for ok {
		select {
		case e, open := <-sub.Events():
			ok = open && (dir != "" && dir != e.dir || send(e))
		case <-beat.C:
			ok = send(Event{Type: "server.heartbeat", Properties: struct{}{}})
		case <-r.Context().Done():
			return
		}
	}
}
