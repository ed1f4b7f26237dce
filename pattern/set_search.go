package pattern

import "sync"

// A setIndex files every pattern of a Set under one literal that its Shape
// promises: a prefix, a suffix, or a piece of a fragment. Patterns that are
// their literal are answered on the way; the others lie in buckets and are
// verified when their literal is seen, those that are regular all together by
// one automaton, those that may run out of time last and in the order of their
// ranks. Nothing is looked at that could not beat the best rank known.
type setIndex struct {
	unless  kinds  // of texts that the index is not for
	literal bool   // there is just one bucket, and no pattern in it
	heads   *radix // by prefix; its root's bucket holds the checks without a key. nil: there is just one bucket
	tails   *radix // by suffix, or nil
	grams   *gramIndex
	buckets []bucket  // the first is not used
	checks  []check   // of the buckets
	lits    string    // of the checks
	slow    []check   // all that may run out of time, by rank
	dfas    []*dfa    // of the buckets
	pool    *dfaPool  // of the Set
	seen    sync.Pool // of *[]uint64, a bit for each bucket
}

// best is Set.Best.
func (s *setIndex) best(text string, limit uint32) (rank uint32, ok bool, err error) {
	var q search // field by field: as a whole it would be made elsewhere first
	q.set, q.text, q.best, q.fault = s, text, limit, none
	if s.heads != nil {
		q.look()
	} else {
		q.visit(1)
	}
	if q.holds > 0 {
		q.settle()
	}
	switch {
	case q.fault < q.best:
		return q.fault, false, q.err
	case q.found:
		return q.best, true, nil
	}
	return 0, false, nil
}

// first is best where a few literals are all there is.
func (s *setIndex) first(text string, limit uint32) (rank uint32, ok bool) {
	for i := range s.checks {
		c := &s.checks[i]
		if c.rank >= limit {
			break
		}
		if s.admits(c, text) {
			return c.rank, true
		}
	}
	return 0, false
}

// look goes through everything that a text may be found under.
func (q *search) look() {
	s := q.set
	q.head()
	if s.tails != nil {
		q.tail()
	}
	if g := s.grams; g != nil && g.min < q.best {
		q.scan(g)
	}
	if n := s.heads.nodes[0].bucket; n != 0 {
		q.visit(n)
	}
}

// A search is one call of best. It lives on the stack.
type search struct {
	set   *setIndex
	text  string
	best  uint32 // the lowest rank known to match; before that, the limit
	found bool
	fault uint32 // the lowest rank that ran out of time
	err   error

	held     [4]*check // slow checks put off, by rank
	holds    int
	overheld bool // there were more

	seen  [4]uint32 // buckets that a piece of the text led to
	seens int
	marks *[]uint64 // the same, when they are more
}

// take notes a match.
func (q *search) take(rank uint32) {
	if rank < q.best {
		q.best, q.found = rank, true
	}
}

// head walks the trie of prefixes. It verifies the patterns of longer prefixes
// first, since they are fewer, and leaves those without any to the caller.
func (q *search) head() {
	t := q.set.heads
	n := &t.nodes[0]
	q.take(n.prefix)
	var pending [6]uint32
	count := 0
	for at := 0; n.min < q.best; {
		if at == len(q.text) {
			q.take(n.exact)
			break
		}
		kid := t.kidOf(n, q.text[at])
		if kid < 0 {
			break
		}
		n = &t.nodes[kid]
		if n.edgeLen > 1 && !t.follows(n, q.text, at) {
			break
		}
		at += int(n.edgeLen)
		q.take(n.prefix)
		if n.bucket != 0 {
			if count == len(pending) {
				q.visit(pending[0])
				count = copy(pending[:], pending[1:])
			}
			pending[count] = n.bucket
			count++
		}
	}
	for count > 0 {
		count--
		q.visit(pending[count])
	}
}

// tail walks the trie of suffixes.
func (q *search) tail() {
	t := q.set.tails
	n := &t.nodes[0]
	q.take(n.prefix)
	for rest := q.text; rest != "" && n.min < q.best; {
		kid := t.kidOf(n, rest[len(rest)-1])
		if kid < 0 {
			return
		}
		n = &t.nodes[kid]
		if n.edgeLen > 1 && !t.follows(n, rest, len(rest)-int(n.edgeLen)) {
			return
		}
		rest = rest[:len(rest)-int(n.edgeLen)]
		q.take(n.prefix)
		if n.bucket != 0 {
			q.visit(n.bucket)
		}
	}
}

// firstSight reports, once, that a bucket has not been seen: a text may hold
// the same piece a million times.
func (q *search) firstSight(n uint32) bool {
	for _, m := range q.seen[:q.seens] {
		if m == n {
			return false
		}
	}
	if q.seens < len(q.seen) {
		q.seen[q.seens] = n
		q.seens++
		return true
	}
	if q.marks == nil {
		q.marks, _ = q.set.seen.Get().(*[]uint64)
		if q.marks == nil {
			marks := make([]uint64, len(q.set.buckets)/64+1)
			q.marks = &marks
		}
	}
	word, bit := &(*q.marks)[n/64], uint64(1)<<(n%64)
	first := *word&bit == 0
	*word |= bit
	return first
}

// visit verifies the patterns of a bucket that could beat the best.
func (q *search) visit(n uint32) {
	b := &q.set.buckets[n]
	if b.min >= q.best {
		return
	}
	q.firstOf(q.set.checks[b.lo:b.slow])
	if b.dfa >= 0 {
		q.regular(q.set.dfas[b.dfa])
	}
	for i := b.slow; i < b.end; i++ {
		c := &q.set.checks[i]
		if c.rank >= q.best {
			break
		}
		q.hold(c)
	}
}

// firstOf verifies checks, which are in the order of their ranks, until one
// matches.
func (q *search) firstOf(checks []check) {
	for i := range checks {
		c := &checks[i]
		if c.rank >= q.best {
			return
		}
		if q.verify(c) {
			q.take(c.rank)
			return
		}
	}
}

// verify reports whether c's pattern matches.
func (q *search) verify(c *check) bool {
	if !q.set.admits(c, q.text) {
		return false
	}
	if c.pattern == nil {
		return true
	}
	ok, err := run(c.pattern, q.text)
	if err != nil && c.rank < q.fault {
		q.fault, q.err = c.rank, err
	}
	return ok
}

// hold puts a slow check off until everything else has been asked.
func (q *search) hold(c *check) {
	if !q.set.admits(c, q.text) {
		return
	}
	if q.holds == len(q.held) {
		q.overheld = true
		return
	}
	i := q.holds
	for ; i > 0 && q.held[i-1].rank > c.rank; i-- {
		q.held[i] = q.held[i-1]
	}
	q.held[i] = c
	q.holds++
}

// settle runs the slow checks that could still beat the best, by rank: one that
// runs out of time then decides, but for the others of its rank.
func (q *search) settle() {
	if q.overheld {
		for i := range q.set.slow {
			if !q.settleOne(&q.set.slow[i]) {
				return
			}
		}
		return
	}
	for _, c := range q.held[:q.holds] {
		if !q.settleOne(c) {
			return
		}
	}
}

// settleOne verifies c; it reports whether a later one could matter.
func (q *search) settleOne(c *check) bool {
	if c.rank >= q.best || c.rank > q.fault {
		return false
	}
	if q.verify(c) {
		q.take(c.rank)
		return false
	}
	return true
}
