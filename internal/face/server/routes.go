package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/inprocess"
	"github.com/obstat/obstat/internal/face/tell"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
)

// who says whom a route is for.
type who uint8

const (
	anybody who = 1 << iota // without a token as well
	agents
	people
	admins // people with the role admin
)

// none is the body of a route that has none.
type none struct{}

// A route is one operation of the API, with its entry in the OpenAPI document.
type route struct {
	method, path, summary string
	who                   who
	in, out               reflect.Type
	query                 []string // names of parameters; others are refused
	kind                  string   // media type of the answer; "" is JSON
	wrong                 string   // media type of an error, which is a text then; "" is a problem
	status                int      // of a success; zero is 200, or 204 for nothing
	strict                bool     // members of the body that are not known are refused
	tagged                bool     // an error may be an object with a name, as opencode's are
	probe                 bool     // is outside the limits: a probe that gets 429 has a server killed
	lost                  bool     // is for callers that were known before the store was lost as well
	serve                 func(s *Server, w http.ResponseWriter, r *http.Request, c *caller)
}

// A request has the caller and the body for an operation.
type request[In any] struct {
	*caller
	*http.Request
	body In
}

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// maxBody bounds a body.
const maxBody = 8 << 20

// op makes the route of an operation: its body is read strictly, and its result
// or its error written.
func op[In, Out any](method, path, summary string, who who, query []string,
	do func(*Service, context.Context, *request[In]) (Out, error)) route {
	in, out := reflect.TypeFor[In](), reflect.TypeFor[Out]()
	as := tree.NewDecoder(in)
	return route{method: method, path: path, summary: summary, who: who, in: in, out: out, query: query,
		strict: true, serve: func(s *Server, w http.ResponseWriter, r *http.Request, c *caller) {
			req := &request[In]{caller: c, Request: r}
			var data []byte
			if in != reflect.TypeFor[none]() {
				var err error
				if data, err = readJSON(r, maxBody, as, &req.body); err == nil {
					err = boundBody(&req.body)
				}
				if err != nil {
					s.fail(w, located(err, data))
					return
				}
			}
			v, err := do(s.service, r.Context(), req)
			switch {
			case err != nil:
				s.fail(w, located(err, data))
			case out == reflect.TypeFor[none]():
				w.WriteHeader(http.StatusNoContent)
			default:
				s.writeJSON(w, http.StatusOK, v)
			}
		}}
}

// raw makes a route that writes its answer by itself.
func raw(method, path, summary, kind string, who who, query []string,
	serve func(*Server, http.ResponseWriter, *http.Request, *caller)) route {
	rt := face[none, none](method, path, summary)
	rt.who, rt.query, rt.kind, rt.serve = who, query, kind, serve
	return rt
}

// routes is the API.
func routes() []route {
	ledgerQuery := []string{"after", "since", "until", "kind", "agent", "session", "tool", "verdict", "rule", "limit"}
	return slices.Concat([]route{
		always(op("POST", "/v1/decisions", "Put one call, or several, to the gate", agents|people, nil, decisions)),
		op("POST", "/v1/explain", "Show how a call would be decided; nothing is recorded", agents|people, nil, explainCall),
		op("POST", "/v1/try", "Decide a call by the policy that comes with it; nothing is recorded", agents|people, nil,
			tryCall),
		op("GET", "/v1/requests", "List requests", agents|people, []string{"state", "group", "after", "limit"}, listRequests),
		op("GET", "/v1/requests/{id}", "Get a request; wait holds until it is answered", agents|people, []string{"wait"},
			getRequest),
		op("POST", "/v1/requests/{id}/answer", "Answer a request", people, nil, answerRequest),
		op("POST", "/v1/requests/answer", "Answer similar requests together", people, nil, answerGroup),
		op("POST", "/v1/requests/{id}/claim", "Take an approval to run its call, once", agents, nil, claimRequest),
		op("POST", "/v1/requests/{id}/outcome", "Report how a claimed call went", agents, nil, reportOutcome),
		op("POST", "/v1/printed", "Take the secrets out of a tool's output before a model reads it", agents|people, nil,
			maskPrinted),
		op("GET", "/v1/grants", "List the grants in force", people, nil, listGrants),
		op("DELETE", "/v1/grants/{id}", "Take a grant back", people, nil, revokeGrant),
		raw("GET", "/v1/ledger", "Query the ledger, or follow it; one record a line", "application/x-ndjson", people,
			append([]string{"follow", "format"}, ledgerQuery...), (*Server).serveLedger),
		op("GET", "/v1/ledger/verify", "Verify the ledger's chain", people, nil, verifyLedger),
		op("GET", "/v1/stats", "Count decisions, answers and rules", people, []string{"since", "buckets"}, getStats),
		op("GET", "/v1/notifications/undelivered", "List the notifications that could not be delivered", admins, nil,
			undelivered),
		op("GET", "/v1/agents", "List the agents that were seen", people, nil, listAgents),
		op("POST", "/v1/agents/proofs", "Take what obstat doctor found of the agents on a machine", agents|people, nil,
			takeProofs),
		op("POST", "/v1/tools", "Filter a list of tools by what calls to them can get", agents|people, nil, filterTools),
		op("GET", "/v1/bundle", "Get the policy in force, signed, to decide by it elsewhere", agents, nil,
			func(v *Service, ctx context.Context, r *request[none]) (*client.Bundle, error) {
				return v.bundle(ctx, r.caller)
			}),
		op("POST", "/v1/records", "Take records of a machine that decides by itself", agents, nil,
			func(v *Service, ctx context.Context, r *request[client.Records]) (none, error) {
				return none{}, v.take(ctx, r.caller, r.body.Lines)
			}),
		op("GET", "/v1/me", "Who the server takes the caller for", agents|people, nil, whoAmI),
		raw("GET", "/v1/events", "Stream what happens, as server-sent events", eventStream, people,
			[]string{"after", "brief"}, (*Server).events),
	}, policyRoutes(), tokenRoutes(), []route{
		{method: "GET", path: "/healthz", summary: "Is the process alive", who: anybody, probe: true,
			in: reflect.TypeFor[none](), out: reflect.TypeFor[none](), kind: "text/plain", serve: (*Server).serveHealth},
		{method: "GET", path: "/readyz", summary: "Can calls be decided and written down; 503 says why not", who: anybody,
			probe: true, in: reflect.TypeFor[none](), out: reflect.TypeFor[none](), kind: "text/plain", wrong: "text/plain",
			serve: (*Server).serveReady},
		always(raw("GET", "/metrics", "Metrics for Prometheus", "text/plain", people|agents, nil, (*Server).serveMetrics)),
		raw("GET", "/openapi.json", "This document", "application/json", anybody, nil, (*Server).serveOpenAPI),
	}, authzenRoutes(), searchRoutes(), opencodeRoutes(), mcpRoutes())
}

func policyRoutes() []route {
	return []route{
		op("GET", "/v1/policies", "List the versions of the policy", people, nil,
			func(v *Service, ctx context.Context, _ *request[none]) (*client.Policies, error) {
				return v.Policies(ctx)
			}),
		op("GET", "/v1/policies/{version}", "Get a version with its files; 0 is the one in force", people, nil, getPolicy),
		op("POST", "/v1/policies", "Keep a policy as the next version", admins, nil, uploadPolicy),
		op("POST", "/v1/policies/validate", "Tell what is wrong with a policy", people, nil,
			func(v *Service, _ context.Context, r *request[client.PolicyUpload]) (*client.PolicyVersion, error) {
				return v.Validate(&r.body)
			}),
		op("GET", "/v1/policies/{version}/diff", "Compare a version with the policy in force", people, nil, diffPolicy),
		op("POST", "/v1/policies/{version}/activate",
			"Put a version in force on all replicas, or agree to it where several people have to", people, nil, activatePolicy),
		op("POST", "/v1/policies/rollback", "Put the version in force that was before, or agree to that", people, nil,
			func(v *Service, ctx context.Context, r *request[client.Activation]) (*client.Activated, error) {
				return v.Rollback(ctx, r.person, &r.body)
			}),
	}
}

func tokenRoutes() []route {
	return []route{
		op("GET", "/v1/tokens", "List tokens, without their secrets", admins, nil,
			func(v *Service, ctx context.Context, _ *request[none]) (client.Tokens, error) {
				list, _, err := v.s.auth.tokens(ctx)
				return client.Tokens{Tokens: append([]client.Token{}, list...)}, err
			}),
		op("POST", "/v1/tokens", "Make a token", admins, nil, func(v *Service, ctx context.Context,
			r *request[client.TokenRequest]) (client.Token, error) {
			return v.s.auth.newToken(ctx, r.body, r.person.Name)
		}),
		op("GET", "/v1/sessions", "List the logins of people", admins, nil, listSessions),
		op("DELETE", "/v1/sessions", "End all logins of a person", admins, []string{"person"},
			func(v *Service, ctx context.Context, r *request[none]) (*client.Ended, error) {
				person := r.URL.Query().Get("person")
				if person == "" {
					return nil, bad("person names whose sessions end")
				}
				n, err := v.s.auth.endSessions(ctx, "", person, r.person.Name)
				return &client.Ended{Sessions: n}, err
			}),
		op("DELETE", "/v1/sessions/{id}", "End a login", admins, nil,
			func(v *Service, ctx context.Context, r *request[none]) (none, error) {
				return none{}, v.EndSession(ctx, r.person, r.PathValue("id"))
			}),
		op("DELETE", "/v1/tokens/{id}", "Take a token back", admins, nil,
			func(v *Service, ctx context.Context, r *request[none]) (none, error) {
				return none{}, v.s.auth.revoke(ctx, r.PathValue("id"), r.person.Name)
			}),
	}
}

func undelivered(v *Service, ctx context.Context, _ *request[none]) (*client.Undelivered, error) {
	list, err := docs.All[client.Notification](ctx, v.s.store, tell.UndeliveredKind)
	return &client.Undelivered{Notifications: append([]client.Notification{}, list...)}, err
}

func listSessions(v *Service, ctx context.Context, _ *request[none]) (*client.Sessions, error) {
	list, err := v.Sessions(ctx)
	return &client.Sessions{Sessions: list}, err
}

// Sessions lists the logins of people.
func (v *Service) Sessions(ctx context.Context) ([]client.Session, error) {
	list, _, err := v.s.auth.sessions(ctx)
	out := []client.Session{}
	for _, s := range list {
		out = append(out, client.Session{ID: s.ID, Person: s.Person.Name, Roles: s.Person.Roles,
			Login: s.Person.Login, Expires: s.Expires})
	}
	return out, err
}

// EndSession ends a login, for p.
func (v *Service) EndSession(ctx context.Context, p *Person, id string) error {
	n, err := v.s.auth.endSessions(ctx, id, "", p.Name)
	if err == nil && n == 0 {
		err = newProblem(http.StatusNotFound, "not-found", "there is no such session", id)
	}
	return err
}

const (
	maxWait  = 600 // seconds that an answer is held
	maxLease = 24 * 3600
	maxCalls = 100
)

// always makes a route one that answers while the store is lost: with denials, or with metrics
// that say so.
func always(rt route) route {
	rt.lost = true
	return rt
}

// lostReply denies every call, since their caller cannot be looked up.
func lostReply(in *client.DecisionRequest, err error) *client.DecisionReply {
	d := obstat.Decision{}.Refuse(obstat.By{Kind: obstat.ByFault,
		Note: "the store cannot be read: " + firstLine(err.Error()) + "; what cannot be written down does not run"})
	if in.Call != nil {
		return &client.DecisionReply{Decision: client.NewDecision(&d, nil)}
	}
	out := &client.DecisionReply{Decisions: make([]client.Decision, len(in.Calls))}
	for i := range out.Decisions {
		out.Decisions[i] = *client.NewDecision(&d, nil)
	}
	return out
}

func decisions(v *Service, ctx context.Context, r *request[client.DecisionRequest]) (*client.DecisionReply, error) {
	in := &r.body
	switch {
	case (in.Call == nil) == (len(in.Calls) == 0):
		return nil, bad("give call, or calls")
	case in.Wait > maxWait || in.Lease > maxLease:
		return nil, bad(fmt.Sprintf("wait is %d seconds at most, lease %d", maxWait, maxLease))
	case len(in.Calls) > maxCalls:
		return nil, bad(fmt.Sprintf("%d calls at a time at most", maxCalls))
	}
	if err := boundAll(in); err != nil {
		return nil, err
	}
	if r.lost != nil {
		return lostReply(in, r.lost), nil
	}
	if in.Call != nil {
		d, err := v.decide(ctx, r.caller, in.Call, in, in.Key)
		return &client.DecisionReply{Decision: d}, err
	}
	return v.decideAll(ctx, r.caller, in)
}

// decideAll decides the calls of a batch. None of them is put before all are known to be the
// caller's to put: `git push` must not wait for people while the caller is told 403 for the call
// beside it. A later error denies the one call, since the others may be approved and
// taken by then; only where obstat itself breaks, all are told so.
func (v *Service) decideAll(ctx context.Context, c *caller, in *client.DecisionRequest) (*client.DecisionReply, error) {
	for i := range in.Calls {
		if err := c.admit(&in.Calls[i], v.s.shelf); err != nil {
			p := *ProblemOf(err)
			p.Detail = fmt.Sprintf("calls[%d]: %s", i, p.Detail)
			return nil, &p
		}
	}
	out, errs := &client.DecisionReply{Decisions: make([]client.Decision, len(in.Calls))}, make([]error, len(in.Calls))
	var all sync.WaitGroup
	for i := range in.Calls {
		key := ""
		if in.Key != "" {
			key = in.Key + "/" + strconv.Itoa(i)
		}
		all.Go(func() {
			d, err := v.decideSafely(ctx, c, &in.Calls[i], in, key)
			if err != nil {
				refused := obstat.Decision{Tool: in.Calls[i].Tool}.Refuse(obstat.By{Kind: obstat.ByFault,
					Note: firstLine(err.Error())})
				d = client.NewDecision(&refused, nil)
			}
			out.Decisions[i], errs[i] = *d, err
		})
	}
	all.Wait()
	if slices.Contains(errs, errBroken) {
		return nil, errBroken
	}
	return out, nil
}

// errBroken is the error of a batch with a call that obstat itself broke on.
var errBroken = errors.New("something in obstat is broken")

// decideSafely is decide beside the goroutine that net/http guards: a panic is an error.
func (v *Service) decideSafely(ctx context.Context, c *caller, call *obstat.Call, in *client.DecisionRequest,
	key string) (d *client.Decision, err error) {
	defer func() {
		if broke := recover(); broke != nil {
			v.s.opts.Log.Error("a call of several broke", "panic", broke, "tool", call.Tool)
			err = errBroken
		}
	}()
	return v.decide(ctx, c, call, in, key)
}

func explainCall(v *Service, _ context.Context, r *request[client.ExplainRequest]) (*explain.View, error) {
	if r.body.Call == nil {
		return nil, bad("give call")
	}
	if err := boundCall(r.body.Call, "call", -1); err != nil {
		return nil, err
	}
	if err := r.admit(r.body.Call, v.s.shelf); err != nil {
		return nil, err
	}
	view, _, err := v.Try(r.body.Call, v.s.opts.World)
	return view, err
}

// tryCall decides by a policy of the caller's own: a framework's, which is an object in its process.
func tryCall(v *Service, ctx context.Context, r *request[inprocess.Trial]) (*inprocess.Verdict, error) {
	if err := boundCall(&r.body.Call, "call", -1); err != nil {
		return nil, err
	}
	subjects, roles := r.body.Call.Subjects, r.body.Call.Roles
	if err := r.admit(&r.body.Call, v.s.shelf); err != nil {
		return nil, err
	}
	r.body.Call.Subjects, r.body.Call.Roles = subjects, roles // the policy is the caller's own, and so is its user
	out, err := v.s.trials.Try(ctx, &r.body, v.s.opts.World)
	if err != nil {
		return nil, invalid(err.Error())
	}
	return out, nil
}

func listRequests(v *Service, ctx context.Context, r *request[none]) (*client.Requests, error) {
	q := r.URL.Query()
	query := approval.Query{State: approval.State(q.Get("state")), Group: q.Get("group")}
	err := oneOf(q, "state", states...)
	if err != nil {
		return nil, err
	}
	if query.Limit, err = number(q, "limit", 100, 1000); err != nil {
		return nil, err
	}
	if query.After, err = cursor(q, "after"); err != nil {
		return nil, err
	}
	if query.Limit == 0 {
		return nil, bad("limit is 1 at least")
	}
	rs, last, err := v.Requests(ctx, query)
	for asked := query.Limit; r.agent != nil && err == nil; {
		all := len(rs) < asked
		rs = slices.DeleteFunc(rs, func(one *approval.Request) bool { return !r.owns(one) })
		if all || len(rs) >= query.Limit {
			rs = rs[max(0, len(rs)-query.Limit):]
			break
		}
		asked *= 8 // the limit is for the agent's own
		more := query
		more.Limit = asked
		rs, last, err = v.Requests(ctx, more)
	}
	return &client.Requests{Requests: append([]*approval.Request{}, rs...), Cursor: last}, err
}

// oneOf refuses a parameter that is none of some words.
func oneOf[T ~string](q url.Values, name string, words ...T) error {
	if got := T(q.Get(name)); got != "" && !slices.Contains(words, got) {
		return bad(fmt.Sprintf("there is no %s %q; it is one of %q", name, got, words))
	}
	return nil
}

// parameter reads a parameter of a query; zero is for one that is missing. A text that cannot be
// read is refused with the words, `limit is a whole number from 0 to 1000, not "many"`.
func parameter[T any](q url.Values, name string, zero T, words string, read func(string) (T, error)) (T, error) {
	text := q.Get(name)
	if text == "" {
		return zero, nil
	}
	v, err := read(text)
	if err != nil {
		return zero, bad(fmt.Sprintf("%s is %s, not %q", name, words, text))
	}
	return v, nil
}

// cursor reads a parameter that is a cursor or a sequence number.
func cursor(q url.Values, name string) (int64, error) {
	return parameter(q, name, 0, "a number from 0 up", func(text string) (int64, error) {
		n, err := strconv.ParseUint(text, 10, 63)
		return int64(n), err
	})
}

// number reads a parameter that is a number up to a limit.
func number(q url.Values, name string, zero, limit int) (int, error) {
	return parameter(q, name, zero, fmt.Sprintf("a whole number from 0 to %d", limit), func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if n < 0 || n > limit {
			err = strconv.ErrRange
		}
		return n, err
	})
}

// moment reads a parameter that is a time.
func moment(q url.Values, name string) (time.Time, error) {
	return parameter(q, name, time.Time{}, "a time as 2026-11-16T12:00:00Z", func(text string) (time.Time, error) {
		return time.Parse(time.RFC3339, text)
	})
}

func getRequest(v *Service, ctx context.Context, r *request[none]) (*approval.Request, error) {
	wait, err := number(r.URL.Query(), "wait", 0, maxWait)
	if err != nil {
		return nil, err
	}
	one, err := v.owned(ctx, r.caller, r.PathValue("id"))
	if err != nil || one.State != approval.Pending {
		return one, err
	}
	return v.hold(ctx, one, wait)
}

func answerRequest(v *Service, ctx context.Context, r *request[client.Answer]) (*approval.Request, error) {
	return v.Answer(ctx, r.person, r.PathValue("id"), r.body)
}

func answerGroup(v *Service, ctx context.Context, r *request[client.GroupAnswer]) (*client.GroupResults, error) {
	results, err := v.AnswerGroup(ctx, r.person, r.body.IDs, r.body.Answer)
	return &client.GroupResults{Results: results}, err
}

func claimRequest(v *Service, ctx context.Context, r *request[client.Claim]) (*client.Decision, error) {
	if r.body.Lease > maxLease {
		return nil, bad(fmt.Sprintf("lease is %d seconds at most", maxLease))
	}
	return v.claimRequest(ctx, r.caller, r.PathValue("id"), r.body)
}

func reportOutcome(v *Service, ctx context.Context, r *request[client.Outcome]) (*approval.Request, error) {
	one, err := v.owned(ctx, r.caller, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if one.State == approval.Pending && !r.body.OK {
		return v.s.gate.Broker().Withdraw(one.ID) // its caller has given up: `ask="deny"`, or a run that was cancelled
	}
	by := r.caller.id()
	if r.body.Key != "" {
		by += " " + r.body.Key
	}
	return v.s.gate.Broker().Finish(ctx, one.ID, by, approval.Outcome{OK: r.body.OK,
		Words: ledger.ClipTo(r.body.Words, 2000)})
}

func listGrants(v *Service, ctx context.Context, _ *request[none]) (*client.Grants, error) {
	grants, err := v.Grants(ctx)
	return &client.Grants{Grants: append([]*approval.Grant{}, grants...)}, err
}

func revokeGrant(v *Service, ctx context.Context, r *request[none]) (none, error) {
	return none{}, v.Revoke(ctx, r.person, r.PathValue("id"))
}

func verifyLedger(v *Service, ctx context.Context, _ *request[none]) (client.Verified, error) {
	return v.Verify(ctx), nil
}

func getStats(v *Service, ctx context.Context, r *request[none]) (*replay.Stats, error) {
	buckets, err := number(r.URL.Query(), "buckets", 60, 1000)
	if err != nil {
		return nil, err
	}
	since, err := moment(r.URL.Query(), "since")
	if err != nil {
		return nil, err
	}
	return v.Stats(ctx, since, buckets)
}

func listAgents(v *Service, ctx context.Context, _ *request[none]) (*client.Agents, error) {
	list, err := v.Agents(ctx)
	return &client.Agents{Agents: append([]client.AgentSeen{}, list...)}, err
}

func filterTools(v *Service, _ context.Context, r *request[client.Tools]) (*client.ToolReaches, error) {
	return v.Tools(&obstat.Call{Mode: r.body.Mode}, r.body.Tools)
}

func whoAmI(_ *Service, _ context.Context, r *request[none]) (*client.Me, error) {
	if r.agent != nil {
		return &client.Me{Kind: "agent", Name: r.agent.token.Name}, nil
	}
	return &client.Me{Kind: "person", Name: r.person.Name, Roles: r.person.Roles, CSRF: r.person.CSRF}, nil
}

func version(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.PathValue("version"))
	if err != nil || n < 0 {
		return 0, bad(fmt.Sprintf("a version is a number, not %q", r.PathValue("version")))
	}
	return n, nil
}

func getPolicy(v *Service, ctx context.Context, r *request[none]) (*client.PolicyVersion, error) {
	n, err := version(r.Request)
	if err != nil {
		return nil, err
	}
	return v.Policy(ctx, n)
}

func uploadPolicy(v *Service, ctx context.Context, r *request[client.PolicyUpload]) (*client.PolicyVersion, error) {
	return v.Upload(ctx, r.person, &r.body)
}

func diffPolicy(v *Service, ctx context.Context, r *request[none]) (*client.PolicyDiff, error) {
	n, err := version(r.Request)
	if err != nil {
		return nil, err
	}
	return v.Diff(ctx, n)
}

func activatePolicy(v *Service, ctx context.Context, r *request[client.Activation]) (*client.Activated, error) {
	n, err := version(r.Request)
	if err != nil {
		return nil, err
	}
	return v.Activate(ctx, r.person, n, &r.body)
}
