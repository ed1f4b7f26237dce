package server

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/pattern"
)

// AuthZEN's searches, over the sets that a server knows: the tools that rules name and calls used, the agents that
// were seen, the people that have tokens, and the resources that conditions on an `id` name. Of other subjects and
// resources, such as all commands there are, none are found.

// found are the results of a search.
type found struct {
	Results []map[string]string `json:"results"`
}

func searchRoutes() (out []route) {
	for _, what := range []string{"subject", "resource", "action"} {
		rt := face[evaluation, found]("POST", "/access/v1/search/"+what, "AuthZEN: find each "+what+" that is let through")
		rt.who, rt.wrong = agents|people, "application/json"
		rt.serve = func(s *Server, w http.ResponseWriter, r *http.Request, c *caller) { s.serveSearch(w, r, c, what) }
		out = append(out, rt)
	}
	return out
}

// maxCandidates bounds how many a search tries.
const maxCandidates = 500

func (s *Server) serveSearch(w http.ResponseWriter, r *http.Request, c *caller, what string) {
	echo(w, r)
	var in evaluation
	if err := readLoose(r, &in); err != nil {
		s.failText(w, err)
		return
	}
	if err := in.searches(what); err != nil {
		s.failText(w, err)
		return
	}
	names, err := s.candidates(r.Context(), what, &in)
	if err != nil {
		s.failText(w, err)
		return
	}
	out := found{Results: []map[string]string{}}
	for _, name := range names[:min(len(names), maxCandidates)] {
		one, result := in.with(what, name)
		if s.letsThrough(r.Context(), c, one) {
			out.Results = append(out.Results, result)
		}
	}
	s.writeJSON(w, http.StatusOK, out)
}

// searches refuses a search without the members that it needs.
func (e *evaluation) searches(what string) error {
	switch {
	case what != "action" && (e.Action == nil || e.Action.Name == ""):
		return bad("the search needs an action with a name")
	case e.Subject == nil || e.Subject.Type == "" || what != "subject" && (e.Subject.ID == nil || *e.Subject.ID == ""):
		return bad("the search needs a subject with a type, and with an id unless it is searched for")
	case e.Resource == nil || e.Resource.Type == "" || what != "resource" && e.Resource.ID == nil:
		return bad("the search needs a resource with a type, and with an id unless it is searched for")
	}
	return nil
}

// candidates returns the names that a search tries.
func (s *Server) candidates(ctx context.Context, what string, e *evaluation) ([]string, error) {
	names := map[string]bool{}
	switch {
	case what == "subject" && e.Subject.Type == "agent":
		seen, err := s.service.Agents(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range seen {
			names[a.Agent] = true
		}
	case what == "subject" && e.Subject.Type == "user":
		people, err := s.people(ctx)
		if err != nil {
			return nil, err
		}
		for name := range people {
			names[name] = true
		}
	case what == "action" || what == "resource" && e.Resource.Type == "tool":
		err := s.store.Counts(ctx, time.Now().AddDate(0, 0, -30), func(r tally.Row) {
			if r.Dim == tally.Tool {
				names[r.Name] = true
			}
		})
		if err != nil {
			return nil, err
		}
		for rule := range s.rulesInForce() {
			if tool := rule.Tool.Text; tool != "" && !strings.ContainsAny(tool, "*?|(") {
				names[tool] = true
			}
		}
	case what == "resource":
		for rule := range s.rulesInForce() {
			resourcesOf(rule, names)
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// rulesInForce yields the rules of the policy that is in force where nothing is known of a call.
func (s *Server) rulesInForce() iter.Seq[*obstat.Rule] {
	return func(yield func(*obstat.Rule) bool) {
		f, _ := s.shelf.InForce(&obstat.Call{})
		if f == nil || f.Main() == nil {
			return
		}
		for _, rules := range f.Main().Program.Rules {
			for i := range rules {
				if !yield(&rules[i]) {
					return
				}
			}
		}
	}
}

// resourcesOf adds the resources that a rule names: those of `tool read where input.id in [record-1, record-2]`.
func resourcesOf(rule *obstat.Rule, names map[string]bool) {
	for _, cond := range rule.If {
		if cond.Field != "input.id" {
			continue
		}
		for _, text := range cond.Any {
			name := text.Text
			if text.Flavour == pattern.JSON && json.Unmarshal([]byte(name), &name) == nil {
				names[name] = true
			}
		}
	}
}

// with returns the evaluation of one candidate, and how a result names it.
func (e *evaluation) with(what, name string) (*evaluation, map[string]string) {
	out := *e
	switch what {
	case "subject":
		subject := *e.Subject
		subject.ID, out.Subject = &name, &subject
		return &out, map[string]string{"type": subject.Type, "id": name}
	case "resource":
		resource := *e.Resource
		resource.ID, out.Resource = &name, &resource
		return &out, map[string]string{"type": resource.Type, "id": name}
	}
	out.Action = new(action)
	if e.Action != nil {
		*out.Action = *e.Action
	}
	out.Action.Name = name
	return &out, map[string]string{"name": name}
}

// letsThrough tells whether the policy lets an evaluation through; nothing is recorded or asked.
func (s *Server) letsThrough(ctx context.Context, c *caller, e *evaluation) bool {
	call, err := e.call()
	if err != nil || s.identify(ctx, c, call) != nil || c.admit(call, s.shelf) != nil {
		return false
	}
	view, _, err := s.service.Try(call, s.opts.World)
	return err == nil && view.Verdict == obstat.Allow
}
