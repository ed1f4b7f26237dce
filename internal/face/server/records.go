package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/ledger"
)

// A source is how far the ledger of a machine is in this one.
type source struct {
	Head  ledger.Head `json:"head"`
	First ledger.Hash `json:"first,omitzero"` // of the chain's first record, where that was sent
}

// take adds records of a machine's own ledger to this one. Each keeps the place
// that it had there; those that are here are left out, and those that do not follow
// are refused. A machine that was set up anew begins another chain, which is written
// down. Hooks send at the same time: one after the other is heard.
func (v *Service) take(ctx context.Context, c *caller, lines []string) error {
	t := &c.agent.token
	if t.ID == "" {
		return fmt.Errorf("%w: records are taken from machines with a token", errForbidden)
	}
	lock, _ := v.taking.LoadOrStore(t.ID, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	now, _, err := docs.Get[source](ctx, v.s.store, sourceKind, t.ID)
	if err != nil && !errors.Is(err, docs.ErrNotFound) {
		return err
	}
	in := &intake{source: now, token: t, bound: c.agent.bound(), made: map[string]int{}}
	for i, line := range lines {
		if err := in.next(strings.TrimSpace(line)); err != nil {
			p := *ProblemOf(err)
			p.Detail = fmt.Sprintf("line %d: %s", i+1, p.Detail)
			return &p
		}
	}
	if in.source == now {
		return nil
	}
	if err := v.s.store.Append(ctx, in.records...); err != nil {
		return err
	}
	for agent, n := range in.made {
		v.note(c, agent, n)
	}
	_, err = docs.Change(ctx, v.s.store, sourceKind, t.ID, func(s *source) error {
		if s.First != in.First || s.Head.Seq < in.Head.Seq {
			*s = in.source
		}
		return nil
	})
	return err
}

// An intake is the records of a machine on their way into this ledger.
type intake struct {
	source
	token   *client.Token
	bound   client.Bound
	records []*ledger.Record
	made    map[string]int // calls, by agent
}

// next takes one line: a sealed record, or the place of one that the token does not send.
func (in *intake) next(line string) error {
	r, err := ledger.Decode([]byte(line))
	if err != nil {
		return invalid(fmt.Sprintf("it is no record: %v", err))
	}
	withheld := r.Kind == "" && in.bound != (client.Bound{})
	if !withheld {
		if sum, err := r.Sum(); err != nil || sum != r.Hash {
			return invalid("it does not have its hash")
		}
		if err := in.bound.Sends(r); err != nil {
			return fmt.Errorf("%w: %w", errForbidden, err)
		}
	}
	if r.Seq == 1 && r.Hash != in.First {
		in.anew(r)
	}
	switch {
	case r.Seq <= in.Head.Seq:
		return nil
	case in.Head.Seq > 0 && (r.Seq != in.Head.Seq+1 || r.Prev != in.Head.Hash):
		return invalid(fmt.Sprintf("it does not follow record %d", in.Head.Seq))
	}
	in.Head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
	if withheld {
		return nil
	}
	from := ledger.Foreign{Seq: r.Seq, Prev: r.Prev, Hash: r.Hash, From: in.token.ID, Name: in.token.Name,
		Taken: time.Now().UTC()}
	if r.Spool, err = json.Marshal(from); err != nil {
		return err
	}
	r.Seq, r.Prev, r.Hash = 0, ledger.Hash{}, ledger.Hash{}
	in.records = append(in.records, r)
	if r.Kind == ledger.Decision {
		in.made[r.Agent]++
	}
	return nil
}

// anew begins another chain, and writes down where the one before ended.
func (in *intake) anew(first *ledger.Record) {
	if in.Head.Seq > 0 {
		reason := fmt.Sprintf("the ledger of the machine %s began anew; record %d was the last of the one before that is here", in.token.Name, in.Head.Seq)
		in.records = append(in.records, &ledger.Record{Time: time.Now(), Kind: ledger.Damage, Reason: reason})
	}
	in.source = source{First: first.Hash}
}
