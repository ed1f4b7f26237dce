package pattern

import (
	"sync"
	"sync/atomic"
)

const (
	maxStateBytes   = 16 << 20 // of all states of a Set
	lastResortBytes = 1 << 20  // of the states for one pattern that ran out of time
	maxFlushes      = 1        // during one run, before it is given up
	maxWork         = 1 << 20  // threads followed to build states during one run
)

// A dfa finds the best of a group of regular patterns in one pass, by a
// deterministic automaton that is built while it runs. Nothing is compiled
// before the first text that needs it.
type dfa struct {
	checks []check // by rank
	prog   atomic.Pointer[dfaProg]
}

// dfaProg holds the compiled patterns of a dfa.
type dfaProg struct {
	machines []*machine // by rank
	rest     []check    // patterns that are unfit for an automaton
}

// A dfaPool is shared by the automata of a Set: a lock for building, room, and
// space to work in. Running takes no lock.
type dfaPool struct {
	mu     sync.Mutex
	live   []*machine // have states
	states int        // bytes
	max    int        // of states; 0 means maxStateBytes
	steps  stepper
}

func newDFA(checks []check) *dfa { return &dfa{checks: checks} }

// program returns the compiled group.
func (d *dfa) program(pool *dfaPool) *dfaProg {
	if p := d.prog.Load(); p != nil {
		return p
	}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	p := d.prog.Load()
	if p == nil {
		p = &dfaProg{}
		p.compile(d.checks)
		d.prog.Store(p)
	}
	return p
}

// compile puts the checks into as few machines as the limits allow.
func (p *dfaProg) compile(checks []check) {
	for len(checks) > 0 {
		n := &nfa{setIDs: map[string]uint32{}}
		var unfit []check
		count := 0
		for ; count < len(checks) && len(n.insts) <= maxInstsAll; count++ {
			if c := checks[count]; c.pattern.regular() == nil {
				unfit = append(unfit, c)
			} else {
				n.add(c.pattern.regular(), c.rank)
			}
		}
		p.close(n, checks[:count], unfit)
		checks = checks[count:]
	}
}

// close makes the machine of n, the program of the checks but for the unfit.
// Where the runes fall into too many classes it tries each half of them alone.
func (p *dfaProg) close(n *nfa, checks, unfit []check) {
	switch {
	case len(unfit) == len(checks):
		p.rest = append(p.rest, unfit...)
	case n.classify():
		p.rest = append(p.rest, unfit...)
		p.machines = append(p.machines, &machine{nfa: n, min: n.ranks[0], stride: uint32(rowHead + len(n.samples))})
	case len(checks) == 1:
		p.rest = append(p.rest, checks[0])
	default:
		half := len(checks) / 2
		p.compile(checks[:half])
		p.compile(checks[half:])
	}
}

// regular finds the best of a group of regular patterns.
func (q *search) regular(d *dfa) {
	if d.checks[0].rank >= q.best {
		return
	}
	pool := q.set.pool
	p := d.program(pool)
	for _, m := range p.machines {
		if m.min >= q.best {
			break
		}
		best, ok := m.run(pool, q.text, q.best)
		if !ok {
			q.firstOf(d.checks)
			return
		}
		q.take(best)
	}
	q.firstOf(p.rest)
}

// lastResort lets an automaton of its own answer for a regular pattern that ran
// out of time, so that a fault does not depend on how a pattern came to be run.
func lastResort(p *Pattern, text string, fault error) (bool, error) {
	prog := dfaProg{}
	prog.compile([]check{{pattern: p}})
	pool := dfaPool{max: lastResortBytes}
	for _, m := range prog.machines {
		if best, ok := m.run(&pool, text, 1); ok {
			return best == 0, nil
		}
	}
	return false, fault
}

// A machine is one automaton: a program and the states met so far.
type machine struct {
	*nfa
	min    uint32 // the lowest rank
	stride uint32 // columns of a row
	states atomic.Pointer[stateTable]
	epoch  uint32 // of the newest states
}

// The first columns of a row describe its state; a column for each class of runes
// follows, with the row to go to, or 0 when that is not built yet.
const (
	colStop   = iota // always 0: the column of bytes that are not ASCII
	colMin           // the lowest rank still alive
	colSure          // the lowest rank that matches whatever follows
	colAccept        // the lowest rank that matches if the text ends
	rowHead
)

// news marks a way to a row whose colMin or colSure is not that of the row
// before, so that most steps need not look at them.
const news = 1 << 31

// A stateTable holds the rows of the states. Readers follow rows without a
// lock: a row is complete before any other row leads to it.
// Rows never move: a table that is full is copied to a larger one of the same
// epoch, and a reader of the old finds the same rows in both.
type stateTable struct {
	epoch uint32
	rows  []atomic.Uint32
	start uint32

	// For builders, under the pool's lock.
	keys  []string // of each row
	index map[string]uint32
}

// run returns the lowest rank below best that matches text, or best; it reports
// false when it gave up, because the states are too many.
func (m *machine) run(pool *dfaPool, text string, best uint32) (uint32, bool) {
	table := m.states.Load()
	if table == nil {
		table = m.begin(pool)
	}
	epoch, at, work := table.epoch, table.start, 0
	best = min(best, table.rows[at+colSure].Load())
	for {
		var done int
		done, at = glide(table.rows, &m.ascii, text, at)
		text = text[done:]
		if text == "" {
			return min(best, table.rows[at+colAccept].Load()), true
		}
		col, size := m.ascii[text[0]], 1
		if col == colStop {
			var r rune
			r, size = decode(text, 0)
			col = m.find(r)
		}
		next := table.rows[at+uint32(col)].Load()
		if next == 0 {
			var cost int
			table, next, cost = m.extend(pool, table, at, col)
			if work += cost; work > maxWork || table.epoch-epoch > maxFlushes {
				return best, false
			}
		}
		text, at = text[size:], next&^news
		best = min(best, table.rows[at+colSure].Load())
		if table.rows[at+colMin].Load() >= best {
			return best, true
		}
	}
}

// glide follows the bytes of text from a row for as long as there is nothing to
// notice. It returns how many bytes that were, and the row it came to.
func glide(rows []atomic.Uint32, cols *[256]uint8, text string, at uint32) (int, uint32) {
	for i := range len(text) {
		next := rows[at+uint32(cols[text[i]])].Load()
		if int32(next) <= 0 {
			return i, at
		}
		at = next
	}
	return len(text), at
}
