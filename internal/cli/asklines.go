package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/explain"
)

// askKeys is the line below a request; askHelp says more.
const (
	askKeys = "[y] once  [s] session  [a] always  [e] edit  [n] no  [?] more"
	askHelp = `y            yes, this once
s [N]        yes, for this session; with N, whatever offer N covers
g, w, u [N]  the same for this agent, this workspace, this user
s 30m        ... for half an hour; also with N: s 1 30m
a [N]        always: offer N is written to the policy's own file
r N PATTERN  always, with another pattern in offer N's rule
e TEXT       yes, but with TEXT as its command (or path)
e {...}      yes, but with this JSON as its arguments
n [WORDS]    no; the words are told to the model
x [WORDS]    no, and no to all else this session is asking
l            leave it to somebody else, for now
q            end; what is asked stays asked`
)

// The things a line can ask for that are no answer.
var (
	errHelp  = errors.New("help")
	errLeave = errors.New("leave")
	errQuit  = errors.New("quit")
)

// parseAnswer reads what a person typed below a request.
func parseAnswer(line string, r *approval.Request, now time.Time) (approval.Answer, error) {
	key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	a := approval.Answer{Allow: true}
	scopes := map[string]approval.Scope{"s": approval.Session, "g": approval.Agent, "w": approval.Workspace, "u": approval.User}
	switch key {
	case "y", "yes":
		a.Scope = approval.Once
		return a, none(rest)
	case "s", "g", "w", "u":
		a.Scope = scopes[key]
		return a, scoped(&a, rest, r, now)
	case "a", "always":
		a.Scope = approval.Always
		return a, always(&a, rest, r)
	case "r":
		a.Scope = approval.Always
		return a, rewritten(&a, rest, r)
	case "e":
		a.Scope = approval.Once
		return a, edited(&a, rest, r)
	case "n", "no", "x":
		return approval.Answer{Words: rest, All: key == "x"}, nil
	case "l":
		return a, errLeave
	case "q":
		return a, errQuit
	}
	return a, errHelp
}

func none(rest string) error {
	if rest != "" {
		return fmt.Errorf("%q means nothing here", rest)
	}
	return nil
}

// scoped reads the number of an offer and a time, in any order.
func scoped(a *approval.Answer, rest string, r *approval.Request, now time.Time) error {
	for _, word := range strings.Fields(rest) {
		if n, err := strconv.Atoi(word); err == nil {
			if n < 1 || n > len(r.Offers) {
				return fmt.Errorf("there is no offer %d", n)
			}
			a.Offer = n
			continue
		}
		d, err := time.ParseDuration(word)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is neither the number of an offer nor a time such as 30m", word)
		}
		a.Until = now.Add(d)
	}
	return nil
}

func always(a *approval.Answer, rest string, r *approval.Request) error {
	switch {
	case len(r.Offers) == 0:
		return errors.New("nothing is on offer that would settle calls like this one; s is for the session")
	case rest == "" && len(r.Offers) == 1:
		a.Offer = 1
		return nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 1 || n > len(r.Offers) {
		return fmt.Errorf("say which offer: a 1 to a %d", len(r.Offers))
	}
	a.Offer = n
	return nil
}

// rewritten puts another pattern into the rule of an offer.
func rewritten(a *approval.Answer, rest string, r *approval.Request) error {
	number, text, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(r.Offers) || strings.TrimSpace(text) == "" {
		return errors.New("say which offer and the pattern: r 1 npm run *")
	}
	rule, err := obstat.ParseRule(r.Offers[n-1].Rule)
	if err != nil {
		return err
	}
	if rule.Whole() {
		return errors.New("that rule has no pattern")
	}
	rule.Pattern.Text, rule.Source, rule.ID, rule.Pos = strings.TrimSpace(text), "", "", obstat.Pos{}
	a.Offer = n
	a.Rule, err = json.Marshal(rule)
	return err
}

// edited reads other arguments: JSON, or the text of the field that matters.
func edited(a *approval.Answer, rest string, r *approval.Request) error {
	if rest == "" {
		return errors.New("say what to run in its place: e make test")
	}
	if strings.HasPrefix(rest, "{") {
		if !json.Valid([]byte(rest)) {
			return errors.New("that is not JSON")
		}
		a.Input = json.RawMessage(rest)
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.Call.Input, &fields); err != nil {
		return errors.New("the call's arguments cannot be read; give all of them as JSON: e {...}")
	}
	was := explain.TextOf(&r.Call)
	for name, raw := range fields {
		var s string
		if json.Unmarshal(raw, &s) == nil && s == was {
			b, err := marshal(rest)
			if err != nil {
				return err
			}
			fields[name] = json.RawMessage(strings.TrimSuffix(string(b), "\n"))
			a.Input, err = json.Marshal(fields)
			return err
		}
	}
	return errors.New("it is not clear which argument that is; give all of them as JSON: e {...}")
}
