package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/keep/docs"
)

// The kinds of documents about requests that wait.
const (
	heldKind = "held" // an answer that can still be taken back
	lookKind = "look" // a person is looking at it
)

const (
	// holdFor is how long an answer can be taken back.
	holdFor = 5 * time.Second
	// lookFor is how long a person counts as looking.
	lookFor = 90 * time.Second
	// orphaned is how long an answer is overdue before another replica sends it.
	orphaned = 2 * time.Second
)

// A held is an answer that was taken and is not sent yet. It lies in the store, so that it is sent also where the
// replica that took it ends; a second answer finds it there.
type held struct {
	Person  Person        `json:"person"`
	Answer  client.Answer `json:"answer"`
	Until   time.Time     `json:"until"`
	Sending bool          `json:"sending,omitempty"` // it cannot be taken back any more
}

// A look says which person looks at a request.
type look struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

// A Note is something about a request that people see beside it.
type Note struct {
	ID      string `json:"id"`
	Looking string `json:"looking,omitempty"` // name of the person
	Held    string `json:"held,omitempty"`    // name of the person who has answered
	Do      string `json:"do,omitempty"`      // allow or deny
	Until   int64  `json:"until,omitempty"`   // milliseconds since 1970: the answer is sent then
	Failed  string `json:"failed,omitempty"`  // why the answer did not count
}

// AnswerLater takes a person's answer, which is sent in five seconds and can be taken back until then, and returns
// when; the zero time says that it is sent already, since the request ends before.
func (v *Service) AnswerLater(ctx context.Context, p *Person, id string, a client.Answer) (time.Time, error) {
	r, err := v.s.store.Request(ctx, id)
	if err != nil {
		return time.Time{}, err
	}
	answer := answerBy(p, &a)
	if err := v.mayAnswer(r, &answer); err != nil {
		return time.Time{}, err
	}
	now := v.now()
	until := now.Add(holdFor)
	if latest := r.Expires.Add(-time.Second); until.After(latest) {
		until = latest
	}
	if until.Sub(now) < time.Second/2 {
		_, err := v.Answer(ctx, p, id, a)
		return time.Time{}, err
	}
	err = docs.Put(ctx, v.s.store, heldKind, id, 0, held{Person: *p, Answer: a, Until: until})
	if errors.Is(err, docs.ErrChanged) {
		return time.Time{}, v.heldBy(ctx, id)
	}
	if err != nil {
		return time.Time{}, err
	}
	v.tell(Note{ID: id, Held: p.Name, Do: doOf(&a), Until: until.UnixMilli()})
	time.AfterFunc(until.Sub(now), func() { v.send(context.WithoutCancel(ctx), id) })
	return until, nil
}

func doOf(a *client.Answer) string {
	if a.Allow {
		return "allow"
	}
	return "deny"
}

// mayAnswer tells at once what an answer would hear when it is sent.
func (v *Service) mayAnswer(r *approval.Request, a *approval.Answer) error {
	switch {
	case r.State != approval.Pending || !v.now().Before(r.Expires):
		return fmt.Errorf("%q: %w", r.ID, approval.ErrSettled)
	case r.Who.NotCaller && r.Call.User == a.By:
		return fmt.Errorf("%w: it takes another person than the one whose agent asks", approval.ErrNotYou)
	}
	return r.Who.Admit(r.Answers, a)
}

// May tells why a person cannot allow a request; "" where it is theirs to answer.
func (v *Service) May(r *approval.Request, p *Person) string {
	a := answerBy(p, &client.Answer{Allow: true, Scope: approval.Once})
	if err := v.mayAnswer(r, &a); err != nil {
		return firstLine(err.Error())
	}
	return ""
}

// now is the store's time, which all replicas share.
func (v *Service) now() time.Time {
	if c, ok := v.s.store.(approval.Clock); ok {
		return c.Now()
	}
	return time.Now()
}

// heldBy is the problem that another has answered, and the answer is about to be sent.
func (v *Service) heldBy(ctx context.Context, id string) error {
	h, _, err := docs.Get[held](ctx, v.s.store, heldKind, id)
	if err != nil {
		return fmt.Errorf("%q: %w", id, approval.ErrSettled)
	}
	said := "denied"
	if h.Answer.Allow {
		said = "allowed"
	}
	return newProblem(http.StatusConflict, "settled", "the request was answered before",
		h.Person.Name+" has "+said+" it just now")
}

// errHeld tells of an answer by another person that is about to be sent; nil where there is none. The person's own is
// dropped: this answer takes its place.
func (v *Service) errHeld(ctx context.Context, p *Person, id string) error {
	h, version, err := docs.Get[held](ctx, v.s.store, heldKind, id)
	switch {
	case errors.Is(err, docs.ErrNotFound):
		return nil
	case err != nil:
		return err
	case h.Person.Name == p.Name && !h.Sending:
		return v.drop(ctx, heldKind, id, version)
	}
	return v.heldBy(ctx, id)
}

// drop deletes a document that has a version; one that is gone already is dropped.
func (v *Service) drop(ctx context.Context, kind, id string, version int) error {
	err := v.s.store.PutDoc(ctx, &docs.Doc{Kind: kind, ID: id, Version: version})
	if errors.Is(err, docs.ErrNotFound) {
		return nil
	}
	return err
}

// TakeBack takes back a person's answer that was not sent yet.
func (v *Service) TakeBack(ctx context.Context, p *Person, id string) error {
	h, version, err := docs.Get[held](ctx, v.s.store, heldKind, id)
	switch {
	case errors.Is(err, docs.ErrNotFound) || err == nil && h.Sending:
		return newProblem(http.StatusConflict, "settled", "it is too late to take the answer back", "")
	case err != nil:
		return err
	case h.Person.Name != p.Name:
		return fmt.Errorf("%w: it is the answer of %s", approval.ErrNotYou, h.Person.Name)
	}
	if err := v.drop(ctx, heldKind, id, version); err != nil {
		return newProblem(http.StatusConflict, "settled", "it is too late to take the answer back", "")
	}
	v.tell(Note{ID: id})
	return nil
}

// SendNow sends a person's answer without waiting for its time.
func (v *Service) SendNow(ctx context.Context, p *Person, id string) error {
	h, _, err := docs.Get[held](ctx, v.s.store, heldKind, id)
	if errors.Is(err, docs.ErrNotFound) || err == nil && h.Person.Name != p.Name {
		return nil // it is sent, or was taken back
	}
	if err != nil {
		return err
	}
	return v.send(ctx, id)
}

// send sends an answer whose time has come. It is marked first, so that it is either taken back or sent, and deleted
// last: where a replica ends between, another sends it again, and the first answer counts.
func (v *Service) send(ctx context.Context, id string) error {
	h, version, err := docs.Get[held](ctx, v.s.store, heldKind, id)
	if err != nil {
		return nil // it was taken back
	}
	if !h.Sending {
		h.Sending = true
		if err := docs.Put(ctx, v.s.store, heldKind, id, version, h); err != nil {
			return nil // another does, or it was taken back
		}
		version++
	}
	_, err = v.answerNow(ctx, &h.Person, id, h.Answer)
	note := Note{ID: id}
	if err != nil {
		note.Failed = ProblemOf(err).Title
	}
	derr := v.drop(ctx, heldKind, id, version)
	v.tell(note)
	if err != nil {
		return err
	}
	return derr
}

// Look says that a person looks at a request, or no longer does.
func (v *Service) Look(ctx context.Context, p *Person, id string, on bool) error {
	r, err := v.s.store.Request(ctx, id)
	if err != nil {
		return err
	}
	if r.State != approval.Pending {
		return fmt.Errorf("%q: %w", id, approval.ErrSettled)
	}
	now, note := v.now(), Note{ID: id}
	_, err = docs.Change(ctx, v.s.store, lookKind, id, func(l *look) error {
		if l.By != "" && l.By != p.Name && now.Before(l.Until) {
			return newProblem(http.StatusConflict, "taken", l.By+" is looking at it", "")
		}
		*l = look{By: p.Name, Until: now.Add(lookFor)}
		if !on {
			l.Until = now
		}
		return nil
	})
	if on && err == nil {
		note.Looking = p.Name
	}
	if err == nil {
		v.tell(note)
	}
	return err
}

// Notes returns what people see beside requests now.
func (v *Service) Notes(ctx context.Context) (map[string]Note, error) {
	out := map[string]Note{}
	now := v.now()
	looks, err := v.s.store.Docs(ctx, lookKind)
	if err != nil {
		return nil, err
	}
	for _, d := range looks {
		var l look
		if json.Unmarshal(d.Body, &l) == nil && now.Before(l.Until) {
			out[d.ID] = Note{ID: d.ID, Looking: l.By}
		}
	}
	answers, err := v.s.store.Docs(ctx, heldKind)
	if err != nil {
		return nil, err
	}
	for _, d := range answers {
		var h held
		if json.Unmarshal(d.Body, &h) == nil {
			n := out[d.ID]
			n.ID, n.Held, n.Do, n.Until = d.ID, h.Person.Name, doOf(&h.Answer), h.Until.UnixMilli()
			out[d.ID] = n
		}
	}
	return out, nil
}

// tell tells people who look at the inbox here; other replicas find it in the store within a second.
func (v *Service) tell(n Note) { v.s.hub.add("note", 0, n) }

// watchNotes tells of notes that other replicas made, sends answers whose replica is gone, and forgets looks that
// are over.
func (v *Service) watchNotes(ctx context.Context) {
	last := map[string]Note{}
	every(ctx, time.Second, func() {
		now := v.now()
		overdue, err := v.s.store.Docs(ctx, heldKind)
		if err != nil {
			return // it is looked for again
		}
		for _, d := range overdue {
			var h held
			if json.Unmarshal(d.Body, &h) == nil && now.After(h.Until.Add(orphaned)) {
				_ = v.send(ctx, d.ID) // whom it concerns is told by a note
			}
		}
		if len(overdue) == 0 && len(last) == 0 && v.s.hub.streams() == 0 {
			return
		}
		if _, shared := v.s.store.(approval.Hinter); shared {
			v.retell(ctx, last)
		}
		v.forgetLooks(ctx, now)
	})
}

// retell tells of notes that differ from those of the last look.
func (v *Service) retell(ctx context.Context, last map[string]Note) {
	notes, err := v.Notes(ctx)
	if err != nil {
		return
	}
	for id, n := range notes {
		if last[id] != n {
			v.tell(n)
			last[id] = n
		}
	}
	for id := range last {
		if _, still := notes[id]; !still {
			v.tell(Note{ID: id})
			delete(last, id)
		}
	}
}

func (v *Service) forgetLooks(ctx context.Context, now time.Time) {
	looks, err := v.s.store.Docs(ctx, lookKind)
	if err != nil {
		return
	}
	for _, d := range looks {
		var l look
		if json.Unmarshal(d.Body, &l) == nil && now.After(l.Until) {
			_ = v.drop(ctx, lookKind, d.ID, d.Version)
		}
	}
}
