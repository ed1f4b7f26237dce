package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

// restore makes requests and grants from the record that tells of them.
func restore(tx *sql.Tx, header *ledger.Record, line []byte) error {
	if header.Kind != ledger.Ask && header.Kind != ledger.Answer && header.Kind != ledger.Grant {
		return nil
	}
	r, err := ledger.Decode(line)
	if err != nil || r.Elsewhere() {
		return err
	}
	if r.Kind == ledger.Grant {
		return restoreGrant(tx, r)
	}
	if r.Request == "" {
		return nil
	}
	req := &approval.Request{ID: r.Request, Call: obstat.Call{Tool: r.Tool, Agent: r.Agent, Session: r.Session, User: r.User, Dir: r.Dir},
		Digest: r.Call, Rule: r.Rule, Pos: r.Pos, Policy: r.Policy, Created: r.Time, State: approval.Pending}
	if r.Kind == ledger.Ask {
		return putRequest(tx, req, "INSERT OR IGNORE")
	}
	if err := putRequest(tx, req, "INSERT OR IGNORE"); err != nil {
		return err
	}
	rs, err := requests(context.Background(), tx, "id = ?", r.Request)
	if err != nil || len(rs) == 0 {
		return err
	}
	req = rs[0]
	if req.State = approval.State(r.Verdict); req.State == approval.Approved {
		req.State = approval.Done // the process that wrote the record decided by it
	}
	_ = json.Unmarshal(r.Detail, &req.Answers) // masked parts are lost
	return update(tx, req.Spent())
}

func restoreGrant(tx *sql.Tx, r *ledger.Record) error {
	var g approval.Grant
	if json.Unmarshal(r.Detail, &g) != nil || g.ID == "" {
		return nil // masked: the next call asks again
	}
	if r.Verdict == "revoked" {
		_, err := tx.Exec("UPDATE grants SET revoked = ? WHERE id = ?", r.Time.UnixNano(), g.ID)
		return err
	}
	if _, err := tx.Exec("DELETE FROM grants WHERE id = ?", g.ID); err != nil {
		return err
	}
	return put(tx, &g)
}

// finish ends making requests and grants from the records. A request that is
// still pending then lapses, and a record says so: its call was only in the
// database that is gone, so no person could see it.
func (s *Store) finish(ctx context.Context, p *pass) error {
	if err := p.load(s.read); err != nil || p.rebuilt {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := false
	err := s.transact(ctx, s.write, func(tx *sql.Tx) error {
		if err := p.load(tx); err != nil || p.rebuilt {
			return err
		}
		if err := s.lapse(ctx, tx); err != nil {
			return err
		}
		if err := tx.QueryRow("SELECT count(*) > 0 FROM grants WHERE revoked = 0").Scan(&granted); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE fed SET rebuilt = 1")
		return err
	})
	if err == nil && granted {
		s.mark()
	}
	return err
}

func (s *Store) lapse(ctx context.Context, tx *sql.Tx) error {
	open, err := requests(ctx, tx, "state = ? ORDER BY n", string(approval.Pending))
	if err != nil {
		return err
	}
	for _, r := range open {
		r.State = approval.Canceled
		if err := s.Ended(ctx, r, "the request lapsed: the database that held what it asks was gone"); err != nil {
			return err
		}
		if err := update(tx, r.Spent()); err != nil {
			return err
		}
	}
	return nil
}
