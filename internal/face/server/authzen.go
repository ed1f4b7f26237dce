package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/ledger"
)

// The OpenID AuthZEN Authorization API 1.0 as a face of the gate. A call is an
// evaluation: the subject is the user or the agent, the action the tool, the
// resource the tool's input. There is no third answer: an ask is a decision of
// false, with a context that says how access can be requested.

// An entity is a subject or a resource. Both have a type and an ID, which may be empty for a
// resource, such as a command, but has to be there.
type entity struct {
	Type       string         `json:"type,omitempty"`
	ID         *string        `json:"id,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

// An action is done to a resource: `read`.
type action struct {
	Name       string         `json:"name,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

// An evaluation asks whether a subject may do something.
type evaluation struct {
	Subject  *entity        `json:"subject,omitempty"`
	Action   *action        `json:"action,omitempty"`
	Resource *entity        `json:"resource,omitempty"`
	Context  map[string]any `json:"context,omitempty"`
}

// evaluations asks several; members that one leaves out are taken from the top.
type evaluations struct {
	evaluation
	Evaluations []evaluation `json:"evaluations,omitempty"`
	Options     options      `json:"options,omitzero"`
}

// options of several evaluations.
type options struct {
	Semantic string `json:"evaluations_semantic,omitempty"`
}

// An evaluated is the answer to an evaluation.
type evaluated struct {
	Decision bool           `json:"decision"`
	Context  map[string]any `json:"context,omitempty"`
}

// evaluatedAll are the answers to several, in order; without any, the answer to the one at the top.
type evaluatedAll struct {
	Evaluations []evaluated    `json:"evaluations,omitempty"`
	Decision    *bool          `json:"decision,omitempty"`
	Context     map[string]any `json:"context,omitempty"`
}

func authzenRoutes() []route {
	one := face[evaluation, evaluated]("POST", "/access/v1/evaluation", "AuthZEN: may the subject do this")
	one.who, one.wrong, one.serve = agents|people, "application/json", (*Server).serveEvaluation
	several := face[evaluations, evaluatedAll]("POST", "/access/v1/evaluations", "AuthZEN: several at once")
	several.who, several.wrong, several.serve = agents|people, "application/json", (*Server).serveEvaluations
	put := face[accessRequest, accessTask]("POST", "/access/draft-1/requests",
		"Draft of an access request profile: put a denial to people")
	put.who, put.status, put.serve = agents, http.StatusAccepted, (*Server).serveAccessRequest
	task := face[none, accessTask]("GET", "/access/draft-1/requests/{id}",
		"Draft of an access request profile: what became of it")
	task.who, task.serve = agents, (*Server).serveAccessTask
	return []route{one, several, put, task, raw("GET", "/.well-known/authzen-configuration",
		"AuthZEN: where the endpoints are",
		"application/json", anybody, nil, (*Server).serveAuthzen)}
}

// face makes a route of another protocol, which reads and writes by itself.
func face[In, Out any](method, path, summary string) route {
	return route{method: method, path: path, summary: summary, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
}

// readLoose reads a body whose unknown members are ignored, as AuthZEN wants it.
// Members that are there twice are refused all the same: two readers must not see
// two documents.
func readLoose(r *http.Request, v any) error {
	data, err := readBody(r, maxBody)
	if err != nil {
		return err
	}
	// Names that differ in case are two members to AuthZEN and one to json: down to
	// those of an action or subject among several evaluations they are refused.
	n, problems := jsonx.Parse(data, jsonx.Options{NUL: true, Fold: 4})
	switch {
	case tree.Fatal(problems):
		line, col := tree.LineCol(data, problems[0].Offset)
		return bad(fmt.Sprintf("%d:%d: %s", line, col, problems[0].Msg))
	case !n.Is(tree.Object):
		return bad("the body is to be a JSON object")
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber() // a call is decided with the numbers that it was made with
	if err := in.Decode(v); err != nil {
		return bad(err.Error())
	}
	return nil
}

// failText writes an error as AuthZEN has it: a status and a string.
func (s *Server) failText(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if p, ok := err.(*client.Problem); ok {
		status = p.Status
	}
	if status == http.StatusUnsupportedMediaType {
		status = http.StatusBadRequest // as AuthZEN has it
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	body, _ := json.Marshal(firstLine(err.Error()))
	_, _ = w.Write(body)
}

// echo returns the caller's name for a request.
func echo(w http.ResponseWriter, r *http.Request) {
	if id := r.Header.Get("X-Request-ID"); id != "" && len(id) < 200 {
		w.Header().Set("X-Request-ID", id)
	}
}

func (s *Server) serveEvaluation(w http.ResponseWriter, r *http.Request, c *caller) {
	echo(w, r)
	var in evaluation
	if err := readLoose(r, &in); err != nil {
		s.failText(w, err)
		return
	}
	call, err := in.call()
	if err != nil {
		s.failText(w, err)
		return
	}
	s.writeJSON(w, http.StatusOK, s.evaluate(r.Context(), c, call, &in))
}

func (s *Server) serveEvaluations(w http.ResponseWriter, r *http.Request, c *caller) {
	echo(w, r)
	var in evaluations
	if err := readLoose(r, &in); err != nil {
		s.failText(w, err)
		return
	}
	if name := in.Options.Semantic; name != "" && !slices.Contains(semantics, name) || len(in.Evaluations) > maxCalls {
		s.failText(w, bad(fmt.Sprintf("there is no semantic %q, and %d evaluations at a time are taken", name, maxCalls)))
		return
	}
	if len(in.Evaluations) == 0 { // as the single endpoint
		call, err := in.call()
		if err != nil {
			s.failText(w, err)
			return
		}
		s.writeJSON(w, http.StatusOK, s.evaluate(r.Context(), c, call, &in.evaluation))
		return
	}
	stop := map[string]func(bool) bool{"": func(bool) bool { return false },
		"execute_all":            func(bool) bool { return false },
		"deny_on_first_deny":     func(ok bool) bool { return !ok },
		"permit_on_first_permit": func(ok bool) bool { return ok }}[in.Options.Semantic]
	out := evaluatedAll{Evaluations: []evaluated{}}
	for i := range in.Evaluations {
		e := &in.Evaluations[i]
		e.inherit(&in.evaluation)
		d := evaluated{}
		if call, err := e.call(); err != nil { // of one, not of all: the others are answered
			d = failedEvaluation(err)
		} else {
			d = s.evaluate(r.Context(), c, call, e)
		}
		if out.Evaluations = append(out.Evaluations, d); stop(d.Decision) {
			break
		}
	}
	s.writeJSON(w, http.StatusOK, out)
}

// inherit takes the members that e leaves out from the defaults, each whole.
func (e *evaluation) inherit(from *evaluation) {
	if e.Subject == nil {
		e.Subject = from.Subject
	}
	if e.Action == nil {
		e.Action = from.Action
	}
	if e.Resource == nil {
		e.Resource = from.Resource
	}
	if e.Context == nil {
		e.Context = from.Context
	}
}

// call makes the call that an evaluation is about: the action names the tool, and
// the resource's and the action's properties are its input.
func (e *evaluation) call() (*obstat.Call, error) {
	switch {
	case e.Subject == nil || e.Action == nil || e.Resource == nil:
		return nil, bad("an evaluation needs a subject, an action and a resource")
	case e.Subject.Type == "" || e.Subject.ID == nil || *e.Subject.ID == "":
		return nil, bad("a subject needs a type and an id")
	case e.Action.Name == "":
		return nil, bad("an action needs a name")
	case e.Resource.Type == "" || e.Resource.ID == nil:
		return nil, bad("a resource needs a type and an id")
	}
	input := map[string]any{}
	for k, v := range e.Resource.Properties {
		input[k] = v
	}
	for k, v := range e.Action.Properties {
		input[k] = v
	}
	tool := e.Action.Name
	if e.Resource.Type == "tool" { // as the MCP profile maps calls
		tool = *e.Resource.ID
	} else {
		e.Resource.name(input)
	}
	text := func(name string) string {
		s, _ := e.Context[name].(string)
		return s
	}
	body, err := json.Marshal(input)
	call := &obstat.Call{Tool: tool, Input: body, Session: text("session"), Dir: text("dir"), Agent: text("agent"),
		Mode: obstat.Mode(text("mode"))}
	if e.Subject.Type == "agent" {
		call.Agent = *e.Subject.ID
	} else {
		call.User, call.Roles = *e.Subject.ID, e.Subject.roles()
	}
	if err == nil {
		err = boundCall(call, "evaluation", -1)
	}
	if tooLong := new(overlong); errors.As(err, &tooLong) {
		err = bad(tooLong.Error()) // AuthZEN has other names for the fields: a position would mislead
	}
	return call, err
}

// fileTypes are the types of resources whose IDs are paths.
var fileTypes = []string{"file", "path", "directory", "folder", "document", "command"}

// name puts a resource into a tool's input, beside fields that are there: its ID as `path`, or its `type` and `id`
// where it is no file and has the name of none: `{"type": "record", "id": "record-1"}`.
func (e *entity) name(input map[string]any) {
	fields := map[string]string{"type": e.Type, "id": *e.ID}
	if slices.Contains(fileTypes, strings.ToLower(e.Type)) || strings.ContainsAny(*e.ID, `/\.~$*?`) {
		fields = map[string]string{"path": *e.ID}
	}
	for key, text := range fields {
		if _, has := input[key]; !has && *e.ID != "" {
			input[key] = text
		}
	}
}

// roles returns the roles that the properties of a subject name: `"role": "admin"` or `"roles": ["dev", "lead"]`. They
// count only where the caller vouches for them.
func (e *entity) roles() (out []string) {
	for _, name := range []string{"role", "roles"} {
		list, several := e.Properties[name].([]any)
		if !several {
			list = []any{e.Properties[name]}
		}
		for _, one := range list {
			if role, ok := one.(string); ok {
				out = append(out, role)
			}
		}
	}
	return out
}

// identify completes the user of a call that a vouching caller has named: without roles of its own the user has those
// of the tokens that were made for it. A person asks for nobody else: the answer would be about the wrong one.
func (s *Server) identify(ctx context.Context, c *caller, call *obstat.Call) error {
	if p := c.person; p != nil && call.User != "" && call.User != p.Name {
		return fmt.Errorf("%w: the token is of %q, and the subject is %q; a machine's token that vouches may ask for others",
			errForbidden, p.Name, call.User)
	}
	if c.agent == nil || !c.agent.token.Vouches || call.User == "" || len(call.Roles) > 0 {
		return nil
	}
	people, err := s.people(ctx)
	call.Roles = people[call.User]
	return err
}

// people returns the roles of each person that has a token.
func (s *Server) people(ctx context.Context) (map[string][]string, error) {
	tokens, _, err := s.auth.tokens(ctx)
	out := map[string][]string{}
	for i := range tokens {
		if t := &tokens[i]; t.Kind == "person" && time.Now().Before(t.Expires) {
			out[t.Name] = append(out[t.Name], t.Roles...)
		}
	}
	return out, err
}

// failedEvaluation is the answer to an evaluation that is in error: it denies.
func failedEvaluation(err error) evaluated {
	return evaluated{Context: map[string]any{"error": map[string]any{"status": ProblemOf(err).Status,
		"message": firstLine(err.Error())}}}
}

// evaluate puts an evaluation to the gate. An error of one evaluation denies it.
func (s *Server) evaluate(ctx context.Context, c *caller, call *obstat.Call, e *evaluation) evaluated {
	user := call.User
	err := s.identify(ctx, c, call)
	var d *client.Decision
	if err == nil {
		d, err = s.evaluated(ctx, c, call, e)
	}
	if err != nil {
		return failedEvaluation(err)
	}
	out := evaluated{Decision: d.Verdict == obstat.Allow.String(),
		Context: map[string]any{"reason": d.Reason, "verdict": d.Verdict}}
	if d.Input != nil {
		out.Context["input"] = d.Input
	}
	if r := d.Request; r != nil && d.Verdict == obstat.Ask.String() {
		out.Context["evaluation_id"], out.Context["evaluated_at"] = r.ID, time.Now().UTC().Format(time.RFC3339)
		out.Context["access_request"] = map[string]any{"endpoint": "/access/draft-1/requests",
			"expires_at": r.Expires.UTC().Format(time.RFC3339), "binding_token": r.Digest, "subject": user}
	}
	return out
}

// evaluated decides an evaluation; with context.approval, by the approval that its
// request got.
func (s *Server) evaluated(ctx context.Context, c *caller, call *obstat.Call, e *evaluation) (*client.Decision, error) {
	approved, _ := e.Context["approval"].(map[string]any)
	id, _ := approved["id"].(string)
	if id == "" {
		return s.service.decide(ctx, c, call, &client.DecisionRequest{}, "")
	}
	if c.agent == nil {
		return nil, fmt.Errorf("%w: approvals are for agents", errForbidden)
	}
	if err := c.admit(call, s.shelf); err != nil {
		return nil, err
	}
	r, err := s.service.owned(ctx, c, id)
	if err != nil {
		return nil, err
	}
	if !sameCall(&r.Call, r.Digest, call) {
		return nil, fmt.Errorf("%q: %w", id, approval.ErrOther)
	}
	return s.service.claimRequest(ctx, c, id, client.Claim{Digest: r.Digest})
}

// serveAuthzen says where the endpoints are.
func (s *Server) serveAuthzen(w http.ResponseWriter, r *http.Request, _ *caller) {
	base := "http://" + r.Host
	if s.opts.TLS {
		base = "https://" + r.Host
	}
	s.writeJSON(w, http.StatusOK, map[string]any{"policy_decision_point": base,
		"access_evaluation_endpoint":  base + "/access/v1/evaluation",
		"search_subject_endpoint":     base + "/access/v1/search/subject",
		"search_resource_endpoint":    base + "/access/v1/search/resource",
		"search_action_endpoint":      base + "/access/v1/search/action",
		"access_evaluations_endpoint": base + "/access/v1/evaluations", "access_request_endpoint": base +
			"/access/draft-1/requests",
		"capabilities": []string{"urn:openid:authzen:capability:access-request"}})
}

// An accessRequest puts a denial to people. The evaluation has put the call to them, so it only
// names that.
type accessRequest struct {
	Denial struct {
		EvaluationID string `json:"evaluation_id"`
		BindingToken string `json:"binding_token"`
	} `json:"denial"`
}

// An accessTask is a request as the draft shows it.
type accessTask struct {
	Task struct {
		ID       string    `json:"id"`
		Status   string    `json:"status"`
		Endpoint string    `json:"status_endpoint"`
		Expires  time.Time `json:"expires_at"`
	} `json:"task"`
	Result *accessResult `json:"result,omitempty"`
}

// An accessResult tells to evaluate anew with an approval.
type accessResult struct {
	Mode     string         `json:"mode"`
	Approval map[string]any `json:"approval"`
}

// serveAccessRequest answers with the task of the request that the evaluation put.
func (s *Server) serveAccessRequest(w http.ResponseWriter, r *http.Request, c *caller) {
	var in accessRequest
	if err := readLoose(r, &in); err != nil {
		s.fail(w, err)
		return
	}
	one, err := s.service.owned(r.Context(), c, in.Denial.EvaluationID)
	if err != nil {
		s.problem(w, newProblem(http.StatusNotFound, "urn:openid:authzen:access-request:error:not_requestable",
			"there is nothing to request", firstLine(err.Error())))
		return
	}
	switch {
	case in.Denial.BindingToken != one.Digest:
		s.problem(w, newProblem(http.StatusBadRequest, "urn:openid:authzen:access-request:error:invalid_denial_binding",
			"the denial was of another call", ""))
	case one.State == approval.Expired:
		s.problem(w, newProblem(http.StatusBadRequest, "urn:openid:authzen:access-request:error:expired_denial",
			"the denial is too old", ""))
	default:
		s.writeJSON(w, http.StatusAccepted, taskOf(one))
	}
}

func (s *Server) serveAccessTask(w http.ResponseWriter, r *http.Request, c *caller) {
	one, err := s.service.owned(r.Context(), c, r.PathValue("id"))
	if err != nil {
		s.fail(w, err)
		return
	}
	s.writeJSON(w, http.StatusOK, taskOf(one))
}

// taskOf shows a request as the draft does.
func taskOf(r *approval.Request) *accessTask {
	status := map[approval.State]string{approval.Pending: "pending", approval.Approved: "approved",
		approval.Refused: "denied", approval.Expired: "expired",
		approval.Canceled: "cancelled", approval.Claimed: "approved", approval.Done: "approved", approval.Lapsed: "expired"}[r.State]
	out := new(accessTask)
	out.Task.ID, out.Task.Status, out.Task.Endpoint, out.Task.Expires = r.ID, status, "/access/draft-1/requests/"+r.ID,
		r.Expires
	if r.State == approval.Approved {
		said := r.Agreed()
		out.Result = &accessResult{Mode: "reevaluate", Approval: map[string]any{"id": r.ID,
			"approved_at": said.Time.UTC().Format(time.RFC3339), "approved_until": r.ClaimBy.UTC().Format(time.RFC3339), "state": ledger.ClipTo(r.Digest, 64)}}
	}
	return out
}
