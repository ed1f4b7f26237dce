// Package server is the gate's HTTP face: agents put calls to it, people answer,
// and administrators look after policies, grants and tokens.
//
// It owns the routes, their access rules, the stream of events, the login of people
// and the policies that a server keeps. Deciding, asking and recording are the
// gate's; pages are package console's, which works through [Service].
package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/inprocess"
	"github.com/obstat/obstat/internal/face/mcp"
	"github.com/obstat/obstat/internal/face/tell"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// A Store keeps everything of a server.
type Store interface {
	gate.Store
	docs.Store
	tally.Keeper
}

// Options open a Server.
type Options struct {
	// Store keeps everything; replicas share one. Required.
	Store Store
	// Policy decides until a version is activated that the server keeps. Required.
	Policy gate.Source
	// World shows decisions the machine; nil shows nothing, which is
	// right where agents run on other machines.
	World obstat.World
	// Shared: other servers use the store, each with files of its own. A rule that is accepted makes
	// a version of the policy, for all of them, and changes no file.
	Shared bool
	// Who returns the people that may answer; nil: everybody with a login.
	Who func(call *obstat.Call, d *obstat.Decision) approval.Who
	// PolicyWho names the administrators that may put a version of the policy in force, and how
	// many of them it takes; see [approval.Roster].ForPolicy.
	PolicyWho approval.Who
	// AskTimeout is how long a request waits for people; zero is ten minutes.
	AskTimeout time.Duration
	// Hosts are the values of the Host header that are answered, as
	// `127.0.0.1:8470`; nil answers any. A
	// Unix socket answers any, and without a token its callers are agents: the file
	// system decides who opens it.
	Hosts []string
	// TLS: the server is reached by https, so that cookies may be marked so.
	TLS bool
	// Play is a directory with the playground's files; "" serves none.
	Play string
	// Console makes the pages; nil: there are none.
	// Its pattern "/" is shown to people where there is no page.
	Console func(*Service) *http.ServeMux
	// OIDC lets people log in with another server; nil: they do not.
	OIDC *OIDC
	// Proxies are the addresses of proxies whose X-Forwarded-For counts; nil: nobody's does.
	Proxies []netip.Prefix
	// Rate is how many requests a second one caller may send; zero is 5,000.
	Rate int
	// MCP are servers of the Model Context Protocol that agents reach at /mcp/NAME: each
	// with a Guard that has its Name and the Dir where calls are made, and nothing more.
	MCP []mcp.Member
	// Guarded and Programs are files that agents on this machine may not change
	// unasked; see [gate.Options].
	Guarded, Programs []string
	// Keep is how old a record of the ledger gets before it is taken out; zero keeps all. Each replica
	// looks after its own chain.
	Keep time.Duration
	// Tell has people told elsewhere of requests that wait; nil: nobody is. It was checked.
	Tell *tell.Config
	// Recount makes the counts of charts anew from the ledger before anything is served.
	Recount bool
	// Traces is the address of a collector that gets a span for each request, by OTLP
	// over HTTP: `http://localhost:4318`. "" sends none.
	Traces string
	// OTLP is the address of a collector that gets every record of the ledger from now on, as OTLP logs over HTTP:
	// `http://localhost:4318`. "" sends none. OTLPHeader goes with each batch.
	OTLP       string
	OTLPHeader http.Header
	// Log gets errors; nil drops them.
	Log *slog.Logger
	// Changes opens what calls on this machine changed, for administrators to look at and take back; nil, and a nil
	// World: the files are elsewhere.
	Changes func() (*changes.Store, error)
	// Try runs a call of an agent on this machine to see what it changes; nil: it is not run here.
	Try func(ctx context.Context, c *obstat.Call) (*Tried, error)
}

// A Server is a gate with an HTTP face. It is safe for concurrent use.
type Server struct {
	opts     Options
	gate     *gate.Gate
	service  *Service
	opencode *board
	store    Store
	feed     *approval.Feed
	hub      *hub
	shelf    *shelf
	trials   inprocess.Trials
	auth     *auth
	metrics  *metrics
	limits   *limits
	turns    *turns
	traces   *traces
	exports  *exporter // nil where records stay
	guards   guards
	probing  sync.Mutex
	teller   *tell.Teller // nil where nobody is told
	handler  http.Handler
	routes   []route
	local    bool // agents run on this machine: see [Options].World
	// bodyLimit is how long a body may take to arrive.
	bodyLimit time.Duration

	stop context.CancelFunc
	work sync.WaitGroup
}

// Open opens the gate and starts the work beside the requests. Close ends it.
func Open(ctx context.Context, opts Options) (*Server, error) {
	if opts.Store == nil || opts.Policy == nil {
		return nil, errors.New("a server needs a store and a policy")
	}
	if opts.AskTimeout <= 0 {
		opts.AskTimeout = 10 * time.Minute
	}
	if opts.Rate <= 0 {
		opts.Rate = 5000
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	local := opts.World != nil
	if !local {
		opts.World = &obstat.Snapshot{}
	}
	s := &Server{opts: opts, local: local, bodyLimit: 20 * time.Second, store: opts.Store, hub: newHub(),
		feed: approval.NewFeed(opts.Store, 0), metrics: newMetrics(), limits: newLimits(opts.Rate), turns: newTurns(),
		traces: newTraces(opts.Traces)}
	s.auth, s.exports = newAuth(opts.Store, opts.TLS, opts.OIDC), s.newExporter()
	s.shelf = &shelf{store: opts.Store, files: opts.Policy, shared: opts.Shared, who: opts.PolicyWho}
	if err := s.shelf.refresh(ctx); err != nil {
		return nil, err
	}
	gated := gate.Options{Policy: s.shelf, Store: opts.Store, World: opts.World, Who: opts.Who, Guarded: opts.Guarded,
		Programs: opts.Programs, Sessions: deeds{opts.Store},
		Approval: approval.Options{Timeout: opts.AskTimeout, Feed: s.feed, Logs: true, Apart: true}}
	var err error
	if s.gate, err = gate.Open(ctx, gated); err == nil {
		err = s.openGuards(ctx, gated)
	}
	if err != nil {
		return nil, err
	}
	s.service = &Service{s: s, equals: newEquals(), seen: map[string]*seen{}}
	s.opencode = newBoard(s.service)
	if err := s.hear(ctx); err != nil {
		return nil, err
	}
	s.shelf.changed = func(v int) { s.hub.add("policy", 0, map[string]int{"version": v}) }
	s.routes = routes()
	if s.handler, err = s.build(); err != nil {
		return nil, err
	}
	if s.exports != nil {
		if err := s.exports.begin(ctx); err != nil {
			return nil, err
		}
	}
	s.begin(ctx)
	return s, nil
}

// Tell has other receivers told of requests; nil leaves those that are told.
func (s *Server) Tell(conf *tell.Config) {
	if s.teller != nil && conf != nil {
		s.teller.Use(conf)
	}
}

// hear has everything hear of requests that is to: those that wait already, and those that come.
func (s *Server) hear(ctx context.Context) error {
	if s.opts.Tell != nil {
		s.teller = tell.New(s.opts.Tell, s.store, s.opts.Log)
	}
	if s.opts.Recount {
		if err := s.store.Recount(ctx); err != nil {
			return err
		}
	}
	keepUp := func(r *approval.Request) {
		s.service.equals.heard(r)
		if s.teller != nil {
			s.teller.Heard(r)
		}
	}
	s.feed.Each(func(r *approval.Request) {
		s.hub.request(r)
		s.opencode.request(r)
		keepUp(r)
	})
	if err := s.feed.Begin(ctx); err != nil {
		return err
	}
	waiting, err := s.store.Requests(ctx, approval.Query{State: approval.Pending})
	for _, r := range waiting {
		keepUp(r)
	}
	return err
}

// begin starts the work beside the requests.
func (s *Server) begin(ctx context.Context) {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	for _, do := range []func(context.Context){s.feed.Run, s.sweep, s.forget, s.retain, s.shelf.run, s.service.flush,
		s.service.watchNotes} {
		s.work.Go(func() { do(run) })
	}
	if s.teller != nil {
		s.work.Go(func() { s.teller.Run(run) })
	}
	if s.exports != nil {
		s.work.Go(func() { s.exports.run(run) })
	}
	if s.traces != nil {
		s.work.Go(func() {
			s.traces.run(run, func(err error) { s.opts.Log.Warn("traces were lost", "error", err) })
		})
	}
}

// Handler returns the HTTP face.
func (s *Server) Handler() http.Handler { return s.handler }

// Close ends the work beside the requests. It does not close the store.
func (s *Server) Close() {
	s.stop()
	s.endStreams()
	s.guards.close()
	s.work.Wait()
}

// endStreams ends all streams of events.
func (s *Server) endStreams() {
	s.hub.close()
	s.opencode.events.Close()
}

// sweep ends requests whose time is over.
func (s *Server) sweep(ctx context.Context) {
	every(ctx, 5*time.Second, func() {
		ended, err := s.gate.Broker().Sweep(ctx)
		if err == nil {
			err = s.gate.Log(ctx, ended...)
		}
		if err != nil && ctx.Err() == nil {
			s.opts.Log.Warn("requests whose time is over could not be ended", "error", err)
		}
	})
}

// forget deletes the logins and sessions that are over.
func (s *Server) forget(ctx context.Context) {
	every(ctx, loginLife, func() {
		if err := s.auth.forget(ctx); err != nil && ctx.Err() == nil {
			s.opts.Log.Warn("logins that are over could not be deleted", "error", err)
		}
		if err := (deeds{s.store}).forget(ctx); err != nil && ctx.Err() == nil {
			s.opts.Log.Warn("sessions that are long over could not be deleted", "error", err)
		}
	})
}

// retain takes records out of the ledger that are too old.
func (s *Server) retain(ctx context.Context) {
	old, ok := s.store.(ledger.Trimmer)
	if !ok || s.opts.Keep <= 0 {
		return
	}
	every(ctx, time.Hour, func() {
		n, err := old.Trim(ctx, time.Now().Add(-s.opts.Keep))
		if err != nil && ctx.Err() == nil {
			s.opts.Log.Warn("old records could not be taken out of the ledger", "error", err)
		} else if n > 0 {
			s.opts.Log.Info("old records were taken out of the ledger", "records", n)
		}
	})
}

// every does something at once and then each span, until ctx ends.
func every(ctx context.Context, span time.Duration, do func()) {
	tick := time.NewTicker(span)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
