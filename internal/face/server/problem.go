package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/keep/docs"
)

// problemType begins the type of every problem.
const problemType = "urn:obstat:problem:"

// A fault is a kind of error, and the problem that it is to a client.
type fault struct {
	err    error
	status int
	name   string
	title  string
}

// faults are the errors that clients are told apart; the first that fits counts.
var faults = []fault{
	{approval.ErrNotFound, http.StatusNotFound, "not-found", "there is no such request or grant"},
	{docs.ErrNotFound, http.StatusNotFound, "not-found", "there is no such thing"},
	{approval.ErrSettled, http.StatusConflict, "settled", "the request was settled before"},
	{approval.ErrOther, http.StatusConflict, "other-call", "the approval is for another call"},
	{docs.ErrChanged, http.StatusConflict, "changed", "it was changed meanwhile"},
	{approval.ErrNotYou, http.StatusForbidden, "not-you", "you may not answer this request"},
	{approval.ErrBroader, http.StatusUnprocessableEntity, "broader", "the rule is broader than the call"},
	{approval.ErrBad, http.StatusUnprocessableEntity, "bad-answer", "the answer makes no sense"},
	{errTooMany, http.StatusTooManyRequests, "too-many", "too many requests; slow down"},
	{errForbidden, http.StatusForbidden, "forbidden", "this is not for you to do"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "timeout", "it took too long"},
	{context.Canceled, http.StatusServiceUnavailable, "canceled", "the client went away"},
}

// errForbidden is wrapped by errors that say why a caller may not do something.
var errForbidden = errors.New("not allowed")

// ProblemOf returns the problem that an error is to clients. An error of none of the known kinds
// means that the store cannot be reached.
func ProblemOf(err error) *client.Problem {
	var p *client.Problem
	if errors.As(err, &p) {
		return p
	}
	var es obstat.Errors
	if errors.As(err, &es) {
		return &client.Problem{Type: "invalid", Title: "what was sent is not valid", Status: http.StatusUnprocessableEntity,
			Detail: firstLine(err.Error()), Errors: es}
	}
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return newProblem(f.status, f.name, f.title, firstLine(err.Error()))
		}
	}
	return newProblem(http.StatusServiceUnavailable, "unavailable", "the server cannot do it now", firstLine(err.Error()))
}

// fail writes the problem that an error is.
func (s *Server) fail(w http.ResponseWriter, err error) {
	p := ProblemOf(err)
	if p.Type == "unavailable" {
		s.opts.Log.Error("a request failed", "error", err)
	}
	s.problem(w, p)
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// problem writes a problem.
func (s *Server) problem(w http.ResponseWriter, p *client.Problem) {
	c := *p
	if !strings.Contains(c.Type, ":") {
		c.Type = problemType + c.Type
	}
	body, err := json.Marshal(&c)
	if err != nil {
		body = []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(c.Status)
	_, _ = w.Write(body) // a client that is gone reads nothing
}

// newProblem returns a problem of a kind such as `not-found`; detail may be "".
func newProblem(status int, kind, title, detail string) *client.Problem {
	return &client.Problem{Type: kind, Title: title, Status: status, Detail: detail}
}

// bad is the problem of a request that cannot be understood.
func bad(detail string) *client.Problem {
	return newProblem(http.StatusBadRequest, "bad-request", "the request cannot be understood", detail)
}

// invalid is the problem of a request that has the right shape and content that is not valid.
func invalid(detail string) *client.Problem {
	return newProblem(http.StatusUnprocessableEntity, "invalid", "what was sent is not valid", detail)
}

// readJSON reads a body strictly: duplicate and unknown keys and values of the
// wrong kind are problems with a position, all at once.
func readJSON(r *http.Request, limit int64, as *tree.Decoder, v any) ([]byte, error) {
	data, err := readBody(r, limit)
	if err != nil {
		return nil, err
	}
	return data, decodeJSON(data, as, v)
}

func decodeJSON(data []byte, as *tree.Decoder, v any) error {
	options := jsonx.Options{NoMark: true, Fold: 2, NUL: true}
	if jsonx.Into(data, options, as, v) {
		return nil
	}
	n, problems := jsonx.Parse(data, options) // slower, with positions
	if !tree.Fatal(problems) {
		if !n.Is(tree.Object) {
			return bad("the body is to be a JSON object")
		}
		problems = append(problems, as.Decode(n, data, v)...)
	}
	if tree.Fatal(problems) {
		f := dialect.File{Name: "body", Data: data}
		p := bad("the body is not what this route takes")
		p.Errors = f.Problems(problems)
		p.Detail = firstLine(p.Errors.Error())
		return p
	}
	return nil
}

// readBody reads a body of a bounded size, of JSON by its type.
func readBody(r *http.Request, limit int64) ([]byte, error) {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		if kind, _, err := mime.ParseMediaType(kind); err != nil || kind != "application/json" {
			return nil, newProblem(http.StatusUnsupportedMediaType, "media-type", "a body comes as application/json", "")
		}
	}
	var data []byte
	var err error
	if n := r.ContentLength; n > 0 && n <= limit {
		data = make([]byte, n)
		_, err = io.ReadFull(r.Body, data) // net/http ends the body there
	} else {
		data, err = io.ReadAll(io.LimitReader(r.Body, limit+1))
	}
	switch {
	case int64(len(data)) > limit:
		return nil, newProblem(http.StatusRequestEntityTooLarge, "too-large", "the body is too large", "")
	case err != nil:
		return nil, bad("the body could not be read: " + err.Error())
	}
	return data, nil
}

// writeJSON answers with a value.
func (s *Server) writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.fail(w, err)
		return
	}
	head := w.Header()
	head["Content-Type"], head["Cache-Control"] = isJSON, noStore
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
