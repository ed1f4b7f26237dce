package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
)

// Options are for [New].
type Options struct {
	// URL is where the server is, as `http://127.0.0.1:8470`. With a Socket it may be
	// left out.
	URL string
	// Socket is the path of the server's Unix socket, in place of the URL's host.
	Socket string
	// Token is an agent's or a person's; a Unix socket takes agents without.
	Token string
	// HTTP sends the requests; nil is one of the client's own.
	HTTP *http.Client
}

// A Client talks to a server. It is safe for concurrent use.
type Client struct {
	opts Options
	http *http.Client
}

// New returns a client. It connects when it is used.
func New(opts Options) (*Client, error) {
	c := &Client{opts: opts, http: opts.HTTP}
	if opts.URL == "" && opts.Socket != "" {
		c.opts.URL = "http://obstat"
	}
	u, err := url.Parse(c.opts.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("a server's URL is as http://127.0.0.1:8470, not %q", opts.URL)
	}
	c.opts.URL = strings.TrimSuffix(c.opts.URL, "/")
	if c.http == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64
		if opts.Socket != "" {
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", opts.Socket)
			}
		}
		c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return c, nil
}

// maxAnswer is the longest answer that is read.
const maxAnswer = 64 << 20

// send sends a request, and reads the answer into out unless that is nil.
func (c *Client) send(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.open(ctx, method, path, in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return nil
}

// open sends a request; an answer that is no success is the error, a [*Problem].
func (c *Client) open(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.opts.URL+path, body)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.opts.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if v := resp.Header.Get(APIHeader); resp.StatusCode < 300 && v == API {
		return resp, nil
	} else if resp.StatusCode < 300 {
		resp.Body.Close()
		return nil, fmt.Errorf("the server's answer is of version %q of the API, and this client knows %q", v, API)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	p := new(Problem)
	if json.Unmarshal(data, p) != nil || p.Status == 0 {
		p = &Problem{Title: "the server answered " + resp.Status, Status: resp.StatusCode}
	}
	return nil, p
}

// Decide puts a call to the gate. Only a decision whose verdict is allow lets it
// run; an error does not.
func (c *Client) Decide(ctx context.Context, call *obstat.Call, wait time.Duration) (*Decision, error) {
	return c.DecideWith(ctx, &DecisionRequest{Call: call, Wait: int(wait.Seconds())})
}

// DecideWith is [Client.Decide] with all that can be said with a call.
func (c *Client) DecideWith(ctx context.Context, in *DecisionRequest) (*Decision, error) {
	var out DecisionReply
	if err := c.send(ctx, http.MethodPost, "/v1/decisions", in, &out); err != nil {
		return nil, err
	}
	if out.Decision == nil || out.Verdict == "" {
		return nil, errors.New("the server did not decide the call")
	}
	return out.Decision, nil
}

// DecideAll puts several calls to the gate at once. The decisions are in their
// order.
func (c *Client) DecideAll(ctx context.Context, calls []obstat.Call, wait time.Duration) ([]Decision, error) {
	var out DecisionReply
	if err := c.send(ctx, http.MethodPost, "/v1/decisions", &DecisionRequest{Calls: calls, Wait: int(wait.Seconds())}, &out); err != nil {
		return nil, err
	}
	if len(out.Decisions) != len(calls) {
		return nil, fmt.Errorf("the server decided %d of %d calls", len(out.Decisions), len(calls))
	}
	return out.Decisions, nil
}

// Requests lists requests in a state; "" is any.
func (c *Client) Requests(ctx context.Context, state approval.State) (*Requests, error) {
	var out Requests
	return &out, c.send(ctx, http.MethodGet, "/v1/requests?state="+url.QueryEscape(string(state)), nil, &out)
}

// Request returns a request, once it is answered or wait is over.
func (c *Client) Request(ctx context.Context, id string, wait time.Duration) (*approval.Request, error) {
	var out approval.Request
	return &out, c.send(ctx, http.MethodGet, "/v1/requests/"+url.PathEscape(id)+"?wait="+strconv.Itoa(int(wait.Seconds())), nil, &out)
}

// Claim takes an approval to run its call. Only a decision that allows lets it run.
func (c *Client) Claim(ctx context.Context, id string, in Claim) (*Decision, error) {
	var out Decision
	return &out, c.send(ctx, http.MethodPost, "/v1/requests/"+url.PathEscape(id)+"/claim", in, &out)
}

// Report says how a claimed call went.
func (c *Client) Report(ctx context.Context, id string, o Outcome) error {
	return c.send(ctx, http.MethodPost, "/v1/requests/"+url.PathEscape(id)+"/outcome", o, nil)
}

// Printed returns a tool's output without its secrets, for the model.
func (c *Client) Printed(ctx context.Context, p Printed) (*Masked, error) {
	var out Masked
	return &out, c.send(ctx, http.MethodPost, "/v1/printed", p, &out)
}

// Answer answers a request, for a person.
func (c *Client) Answer(ctx context.Context, id string, a Answer) (*approval.Request, error) {
	var out approval.Request
	return &out, c.send(ctx, http.MethodPost, "/v1/requests/"+url.PathEscape(id)+"/answer", a, &out)
}

// AnswerGroup answers similar requests alike, for a person.
func (c *Client) AnswerGroup(ctx context.Context, ids []string, a Answer) ([]GroupResult, error) {
	var out GroupResults
	err := c.send(ctx, http.MethodPost, "/v1/requests/answer", GroupAnswer{IDs: ids, Answer: a}, &out)
	return out.Results, err
}

// Upload keeps a policy as the next version, for an administrator.
func (c *Client) Upload(ctx context.Context, up PolicyUpload) (*PolicyVersion, error) {
	var out PolicyVersion
	return &out, c.send(ctx, http.MethodPost, "/v1/policies", up, &out)
}

// Activate puts a version in force, for an administrator. A [Problem] of type changed or loosens has
// the difference.
func (c *Client) Activate(ctx context.Context, version int, a Activation) (*Activated, error) {
	var out Activated
	return &out, c.send(ctx, http.MethodPost, "/v1/policies/"+strconv.Itoa(version)+"/activate", a, &out)
}

// Rollback puts the version in force that was before, for an administrator.
func (c *Client) Rollback(ctx context.Context, a Activation) (*Activated, error) {
	var out Activated
	return &out, c.send(ctx, http.MethodPost, "/v1/policies/rollback", a, &out)
}

// Diff compares a version with the policy in force.
func (c *Client) Diff(ctx context.Context, version int) (*PolicyDiff, error) {
	var out PolicyDiff
	return &out, c.send(ctx, http.MethodGet, "/v1/policies/"+strconv.Itoa(version)+"/diff", nil, &out)
}

// Policy returns a version of the policy; zero is the one in force.
func (c *Client) Policy(ctx context.Context, version int) (*PolicyVersion, error) {
	var out PolicyVersion
	return &out, c.send(ctx, http.MethodGet, "/v1/policies/"+strconv.Itoa(version), nil, &out)
}

// Bundle returns the policy in force, signed, for an agent's machine.
func (c *Client) Bundle(ctx context.Context) (*Bundle, error) {
	var out Bundle
	return &out, c.send(ctx, http.MethodGet, "/v1/bundle", nil, &out)
}

// SendRecords hands records of an agent's machine to the server's ledger.
func (c *Client) SendRecords(ctx context.Context, lines []string) error {
	return c.send(ctx, http.MethodPost, "/v1/records", Records{Lines: lines}, nil)
}

// SendProofs sends the findings of obstat doctor on an agent's machine.
func (c *Client) SendProofs(ctx context.Context, proofs []Proof) error {
	return c.send(ctx, http.MethodPost, "/v1/agents/proofs", Proofs{Proofs: proofs}, nil)
}

// An Event is something that happened on the server.
type Event struct {
	Kind string // request, policy or reset
	// ID is where a stream goes on from; "" keeps the one before.
	ID   string
	Data json.RawMessage
}

// Events streams events, from one on; "" is from now on. It returns when
// the stream ends, handle does not want more, or ctx ends. A request comes as it is when it
// is told: a state may come twice, and one that was over at once not at all.
func (c *Client) Events(ctx context.Context, last string, handle func(Event) bool) error {
	header := http.Header{"Accept": {"text/event-stream"}}
	if last != "" {
		header.Set("Last-Event-ID", last)
	}
	resp, err := c.open(ctx, http.MethodGet, "/v1/events", nil, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxAnswer)
	var e Event
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			e.Kind = value
		case "id":
			e.ID = value
		case "data":
			e.Data = json.RawMessage(value)
		case "":
			if e.Kind != "" && !handle(e) {
				return nil
			}
			e = Event{}
		}
	}
	return lines.Err()
}
