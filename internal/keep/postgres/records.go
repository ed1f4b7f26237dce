package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// A job waits to be written: records, a request, or both.
type job struct {
	drafts  []*ledger.Draft
	records []*ledger.Record
	request *approval.Request
	body    []byte
	err     chan error
}

// maxBatch is how many jobs are written together at most.
const maxBatch = 256

// do has a job written, and returns once it will survive a crash. A job that waits
// for the database is given up with ctx.
func (s *Store) do(ctx context.Context, j *job) error {
	j.err = make(chan error, 1)
	select {
	case <-s.done:
		return ledger.ErrClosed
	default:
	}
	if !s.queue.put(j) {
		return ledger.ErrClosed
	}
	select {
	case err := <-j.err:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the database is slow, and whether it was written is not known: %w", ctx.Err())
	}
}

// Append seals records behind the last one of this replica's chain. Appends of
// several goroutines are committed together.
func (s *Store) Append(ctx context.Context, records ...*ledger.Record) error {
	j, err := newJob(records)
	if err != nil {
		return err
	}
	return s.do(ctx, j)
}

// newJob encodes records, which is every caller's own work.
func newJob(records []*ledger.Record) (*job, error) {
	drafts, err := ledger.Drafts(records)
	return &job{records: records, drafts: drafts}, err
}

// write commits the queue, in batches, until ctx ends.
func (s *Store) write(ctx context.Context) {
	callers, took := 0, time.Duration(0) // of the batch before, and those that came meanwhile
	for {
		select {
		case <-ctx.Done():
			for _, j := range s.queue.close() {
				j.err <- ledger.ErrClosed
			}
			return
		case <-s.queue.more:
		}
		batch := s.gather(callers, min(took/4, maxGather))
		if len(batch) == 0 {
			continue
		}
		began := time.Now()
		s.commit(batch)
		callers, took = len(batch)+s.queue.len(), time.Since(began)
	}
}

// maxGather is how long a batch waits at most for the callers of the one before.
const maxGather = 2 * time.Millisecond

// gather takes the queue. Callers that the batch before has just answered often come
// back at once: where there are several, it waits a part of a commit's time for all of
// them, so that they share a commit and do not take turns in two halves.
func (s *Store) gather(callers int, wait time.Duration) []*job {
	batch := s.queue.take(nil)
	var over <-chan time.Time
	for len(batch) < min(callers, maxBatch) {
		if over == nil {
			over = time.After(wait)
		}
		select {
		case <-s.queue.more:
			batch = s.queue.take(batch)
		case <-over:
			return batch
		}
	}
	return batch
}

// writeLimit is how long a batch may take.
const writeLimit = 10 * time.Second

// commit writes a batch and tells everybody how it went. A batch that the database does not take is written job by
// job: of one that is too long for an index, the others know nothing.
func (s *Store) commit(batch []*job) {
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	exists := map[string]bool{}
	err := s.put(ctx, batch, exists)
	if len(batch) > 1 && refused(err) {
		for _, j := range batch {
			s.commit([]*job{j})
		}
		return
	}
	if !refused(err) {
		s.failed.Store(&err)
	}
	for _, j := range batch {
		switch {
		case err != nil:
			j.err <- err
		case j.request != nil && exists[j.request.ID]:
			j.err <- fmt.Errorf("%q: %w", j.request.ID, approval.ErrExists)
		default:
			if j.request != nil {
				exists[j.request.ID] = true // another caller may put the same at the same time
			}
			j.err <- nil
		}
	}
	if err == nil && slices.ContainsFunc(batch, func(j *job) bool { return j.request != nil }) {
		nudge(s.poke)
	}
}

// refused tells whether an error is about the data of a batch, not about the state of the database: bad values
// (22), constraints (23) and limits such as that of an index row (54).
func refused(err error) bool {
	c := code(err)
	return len(c) == 5 && (c[:2] == "22" || c[:2] == "23" || c[:2] == "54")
}

// put writes a batch in one transaction. A transaction whose end is not known is
// looked for, and repeated where it was not made. exists gets the requests that
// were there before.
func (s *Store) put(ctx context.Context, batch []*job, exists map[string]bool) (err error) {
	for range 4 {
		var chain string
		var head ledger.Head
		if chain, head, err = s.own(ctx); err == nil {
			sealed := seal(batch, &head)
			clear(exists)
			if err = s.insert(ctx, chain, batch, sealed, exists); err == nil || lost(err) && s.committed(ctx, chain, head, batch) {
				s.wrote(chain, head)
				s.counting.add(chain, batch)
				return nil
			}
		}
		s.mu.Lock()
		s.chain = "" // looked for again: another replica may have it by now
		s.mu.Unlock()
		if c := code(err); !lost(err) && c != "40001" && c != "40P01" && c != "23505" {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}

// A column is the values of a column, row by row.
type column = [][]byte

// rows are the records of a batch as columns.
type rows struct {
	seqs, times                                     []int64
	kinds, agents, sessions, tools, verdicts, rules column
	lines                                           column
}

// seal seals the records of a batch behind head, which it moves.
func seal(batch []*job, head *ledger.Head) (out rows) {
	for _, j := range batch {
		for i, d := range j.drafts {
			line := d.Seal(*head)
			r := j.records[i]
			*head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
			out.seqs, out.times = append(out.seqs, int64(r.Seq)), append(out.times, r.TakenAt().UnixNano())
			out.kinds, out.agents = append(out.kinds, indexed(string(r.Kind))), append(out.agents, indexed(r.Agent))
			out.sessions, out.tools = append(out.sessions, indexed(r.Session)), append(out.tools, indexed(r.Tool))
			out.verdicts, out.rules = append(out.verdicts, indexed(r.Verdict)), append(out.rules, indexed(r.Rule))
			out.lines = append(out.lines, line)
		}
	}
	return out
}

// indexed returns a text as an index has it: an index takes 2,700 bytes, and a record of a machine may name a session
// of any length. The line has it whole.
func indexed(text string) []byte { return []byte(tally.Clip(text, 512)) }

// insertBatch writes records and requests: one statement, one way to the database
// and back, one commit.
const insertBatch = `WITH records AS (
		INSERT INTO obstat_records (chain, seq, time, kind, agent, session, tool, verdict, rule, line)
		SELECT $1, seq, least(time, ` + micros + ` * 1000), kind, agent, session, tool, verdict, rule, line
		FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bytea[])
			AS new (seq, time, kind, agent, session, tool, verdict, rule, line) ORDER BY seq)
	INSERT INTO obstat_requests (id, state, grouped, version, changed, body)
	SELECT id, 'pending', grouped, 0, ` + micros + `, body FROM unnest($11::bytea[], $12::bytea[], $13::bytea[]) AS new (id, grouped, body)
	ON CONFLICT (id) DO NOTHING RETURNING id`

// insert writes a batch. exists gets the requests that were there before.
func (s *Store) insert(ctx context.Context, chain string, batch []*job, r rows, exists map[string]bool) error {
	var ids, groups, bodies column
	for _, j := range batch {
		if j.request != nil {
			ids, groups, bodies = append(ids, []byte(j.request.ID)), append(groups, []byte(j.request.Group)), append(bodies, j.body)
		}
	}
	put, err := s.pool.Query(ctx, insertBatch, chain, r.seqs, r.times, r.kinds, r.agents, r.sessions, r.tools, r.verdicts, r.rules, r.lines, ids, groups, bodies)
	if err != nil {
		return err
	}
	made, err := pgx.CollectRows(put, pgx.RowTo[[]byte])
	for _, id := range ids {
		exists[string(id)] = true
	}
	for _, id := range made {
		delete(exists, string(id))
	}
	return err
}

// committed tells whether a batch is in the database after all.
func (s *Store) committed(ctx context.Context, chain string, head ledger.Head, batch []*job) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for range 20 {
		now, err := s.headOf(ctx, chain)
		if err == nil {
			if slices.ContainsFunc(batch, func(j *job) bool { return len(j.drafts) > 0 }) {
				return now == head
			}
			var there bool
			err = s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM obstat_requests WHERE id = $1 AND body = $2)", []byte(batch[0].request.ID), batch[0].body).Scan(&there)
			if err == nil {
				return there
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(200 * time.Millisecond):
		}
	}
	return false
}

// RecordsQuery turns a query into SQL that selects lines. It has the conditions alone that are asked for, and kind
// and verdict as literals: a plan for any question reads all records, and a partial index is used where the planner
// sees the value.
func RecordsQuery(q *ledger.Query) (string, []any) {
	where, args := []string{"TRUE"}, []any(nil)
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, condition+" $"+strconv.Itoa(len(args)))
	}
	if q.After > 0 {
		add("seq >", int64(q.After))
	}
	if q.Seq > 0 {
		where = append(where, "chain IN (SELECT name FROM obstat_chains)")
		add("seq =", int64(q.Seq))
	}
	if !q.Since.IsZero() {
		add("time >=", q.Since.UnixNano())
	}
	if !q.Until.IsZero() {
		add("time <", q.Until.UnixNano())
	}
	for _, c := range [][2]string{{"agent", q.Agent}, {"session", q.Session}, {"tool", q.Tool}, {"rule", q.Rule}} {
		if c[1] != "" {
			add(c[0]+" =", indexed(c[1]))
		}
	}
	for _, c := range [][2]string{{"kind", string(q.Kind)}, {"verdict", q.Verdict}} {
		if c[1] != "" {
			where = append(where, fmt.Sprintf("%s = '\\x%x'::bytea", c[0], indexed(c[1])))
		}
	}
	end := " ORDER BY n"
	if q.Limit > 0 {
		args = append(args, q.Limit)
		end = " ORDER BY n DESC LIMIT $" + strconv.Itoa(len(args))
	}
	return "SELECT line FROM obstat_records WHERE " + strings.Join(where, " AND ") + end, args
}

// Records yields the records of all chains that q asks for.
func (s *Store) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		text, args := RecordsQuery(&q)
		rows, err := s.pool.Query(ctx, text, args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		var newest [][]byte
		for rows.Next() {
			var line []byte
			if err := rows.Scan(&line); err != nil {
				yield(nil, err)
				return
			}
			if q.Limit > 0 {
				newest = append(newest, line)
			} else if !yield(ledger.Decode(line)) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, err)
			return
		}
		for _, line := range slices.Backward(newest) {
			if !yield(ledger.Decode(line)) {
				return
			}
		}
	}
}

// Head returns the end of this replica's chain.
func (s *Store) Head(ctx context.Context) (ledger.Head, error) {
	chain, _, err := s.own(ctx)
	if err != nil {
		return ledger.Head{}, err
	}
	return s.headOf(ctx, chain)
}

func (s *Store) headOf(ctx context.Context, chain string) (ledger.Head, error) {
	var line []byte
	err := s.pool.QueryRow(ctx, "SELECT line FROM obstat_records WHERE chain = $1 ORDER BY seq DESC LIMIT 1", chain).Scan(&line)
	if errors.Is(err, pgx.ErrNoRows) {
		return ledger.Head{}, nil
	}
	if err != nil {
		return ledger.Head{}, err
	}
	r, err := ledger.Decode(line)
	if err != nil {
		return ledger.Head{}, err
	}
	return ledger.Head{Seq: r.Seq, Hash: r.Hash}, nil
}

// Trim forgets the beginning of this replica's chain: the records before a time.
func (s *Store) Trim(ctx context.Context, before time.Time) (int, error) {
	chain, _, err := s.own(ctx)
	if err != nil {
		return 0, err
	}
	var first, last int64
	err = s.pool.QueryRow(ctx, `SELECT coalesce(min(seq), 0), coalesce((SELECT min(seq) FROM obstat_records WHERE chain = $1 AND time >= $2), max(seq) + 1, 0)
		FROM obstat_records WHERE chain = $1`, chain, before.UnixNano()).Scan(&first, &last)
	if err != nil || last <= first {
		return 0, err
	}
	var line []byte
	if err := s.pool.QueryRow(ctx, "SELECT line FROM obstat_records WHERE chain = $1 AND seq = $2", chain, last-1).Scan(&line); err != nil {
		return 0, err
	}
	gone, err := ledger.Decode(line)
	if err != nil {
		return 0, err
	}
	cut, err := ledger.NewCut(ledger.Head{Seq: gone.Seq, Hash: gone.Hash}, s.Now())
	if err != nil {
		return 0, err
	}
	// The cut comes first: a chain that names its lost records verifies either way.
	if err := s.Append(ctx, cut); err != nil {
		return 0, err
	}
	return s.drop(ctx, chain, last, cut)
}

// drop deletes the records of a chain before last, whose cut has been appended. Another process may
// have taken the chain over meanwhile, so that the cut is in another one: nothing is deleted then,
// for a chain that does not name its lost records is broken.
func (s *Store) drop(ctx context.Context, chain string, last int64, cut *ledger.Record) (int, error) {
	var line []byte
	err := s.pool.QueryRow(ctx, "SELECT line FROM obstat_records WHERE chain = $1 AND seq = $2", chain, int64(cut.Seq)).Scan(&line)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if r, err := ledger.Decode(line); err != nil || r.Hash != cut.Hash {
		return 0, err
	}
	tag, err := s.pool.Exec(ctx, "DELETE FROM obstat_records WHERE chain = $1 AND seq < $2", chain, last)
	return int(tag.RowsAffected()), err
}
