package pattern

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/pattern/internal/minimatch"
)

// A setIndex files every pattern of a Set under one gram: four bytes that, by its Shape,
// every match has, and of these the four that the fewest others have. A text looks up each
// of its grams, mostly in the bitmap alone, and asks the patterns that it finds. Beginning
// and end of a text count as three bytes that are in no pattern, so that `rm*` is filed under
// "\xff\xffrm" and `*.c` under ".c\xff\xff". Nothing is asked that could not beat the best rank
// known.
type setIndex struct {
	any    uint32  // the lowest rank of a pattern that matches everything
	min    uint32  // the lowest rank of those that have a gram
	end    uint32  // of the patterns whose grams are in the table
	slot   uint8   // shift of a hash, to a slot
	loose  []Entry // those that have no gram, by rank
	filed  []filed // the others, those of a gram together and by rank
	slots  []gramSlot
	bitmap [64]uint64
	seen   sync.Pool
}

// A gramSlot leads from a gram to its patterns, filed[lo:hi]; it is free if there are
// none.
type gramSlot struct{ gram, lo, hi uint32 }

// A filed is an entry with the ends of its shape beside it, in one line of the cache: the
// cost of a decision is the memory that it has to fetch.
type filed struct {
	Entry
	prefix, suffix string
	shape          *Shape
	plain          bool // the shape is that for tidy paths
	literal        bool // there is no more to a match than the shape
	ends           bool // there is no more to the shape than the prefix
}

// admits is admits of the shape.
func (f *filed) admits(text string) bool {
	return strings.HasPrefix(text, f.prefix) && (f.ends || strings.HasSuffix(text, f.suffix) && f.shape.admits(text))
}

const (
	gramLen    = 4
	ending     = 0xFF // stands before and after a text
	endings    = "\xff\xff\xff"
	fewEntries = 6 // of a Set, that are as well asked one by one
)

func gramHash(gram uint32) uint32 { return gram * 0x9E3779B1 }

// addByte returns the gram that ends with c after the place of another.
func addByte(gram uint32, c byte) uint32 { return gram>>8 | uint32(c)<<24 }

// best is Set.Best.
func (x *setIndex) best(text string, limit uint32, keep func(uint32) bool) (rank uint32, ok bool, err error) {
	q := newSearch(text, limit, keep)
	if x.any < limit {
		q.note(x.any, true, nil)
	}
	if x.min < q.best {
		x.scan(&q)
	}
	q.firstOf(x.loose)
	return q.answer()
}

// has looks a gram up in the bitmap; true says that it may be in the table.
func (x *setIndex) has(gram uint32) bool {
	hash := gramHash(gram)
	return x.bitmap[hash>>26]>>(hash>>20%64)&1 != 0
}

// scan asks the patterns of each gram of the text.
func (x *setIndex) scan(q *search) {
	text := q.text
	var seen sights
	gram := ^uint32(0)
	for i := range len(text) {
		if gram = addByte(gram, text[i]); x.has(gram) {
			x.visit(q, gram, &seen)
		}
	}
	for range len(endings) {
		gram = addByte(gram, ending)
		if x.has(gram) {
			x.visit(q, gram, &seen)
		}
	}
	if seen.more != nil {
		x.seen.Put(seen.more)
	}
}

// visit asks the patterns of a gram.
func (x *setIndex) visit(q *search, gram uint32, seen *sights) {
	at := gramHash(gram) >> (x.slot & 31)
	for x.slots[at].gram != gram {
		if x.slots[at].hi == 0 {
			return
		}
		at = (at + 1) & uint32(len(x.slots)-1)
	}
	slot := &x.slots[at]
	if slot.hi == 0 || !seen.first(x, at) {
		return
	}
	q.ask(x.filed[slot.lo:slot.hi])
}

// ask asks patterns by rank until one matches, their literals first.
func (q *search) ask(patterns []filed) {
	for i := range patterns {
		f := &patterns[i]
		if !q.could(f.Rank) {
			return
		}
		ok, err := false, error(nil)
		switch {
		case f.plain && !q.isTidy():
			ok, err = f.Pattern.Match(q.text)
		case !f.admits(q.text):
		case f.literal:
			ok = true
		default:
			ok, err = f.Pattern.run(q.text)
		}
		q.note(f.Rank, ok, err)
	}
}

// isTidy is tidy of the text, found out once.
func (q *search) isTidy() bool {
	if q.tidy == unknown {
		q.tidy = no
		if minimatch.Tidy(q.text) {
			q.tidy = yes
		}
	}
	return q.tidy == yes
}

// sights are the slots that a search has come to: a text may hold a gram a million
// times.
type sights struct {
	few  [6]uint32
	n    int
	more *pcSet
}

// first reports whether a slot is new.
func (s *sights) first(x *setIndex, slot uint32) bool {
	for _, old := range s.few[:s.n] {
		if old == slot {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = slot
		s.n++
		return true
	}
	if s.more == nil {
		s.more, _ = x.seen.Get().(*pcSet)
		if s.more == nil {
			s.more = new(pcSet)
		}
		s.more.reset(len(x.slots))
	}
	return s.more.add(slot)
}

// newSetIndex files entries, which are by rank, unless they are few.
func newSetIndex(entries []Entry, few int) *setIndex {
	x := &setIndex{any: none, min: none}
	if len(entries) <= few {
		x.loose = entries
		return x
	}
	grams := rarestGrams(entries)
	order := make([]uint32, 0, len(entries)) // of the entries that have a gram
	for i, e := range entries {
		if grams[i] != 0 {
			order = append(order, uint32(i))
			continue
		}
		if sh := e.Pattern.shape(); sh.Ordered && len(sh.Fragments) == 0 {
			x.any = min(x.any, e.Rank)
		}
		x.loose = append(x.loose, e)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(grams[a], grams[b]) })
	x.filed = make([]filed, len(order))
	log := bits.Len(uint(len(order))) + 1
	x.slots, x.slot = make([]gramSlot, 1<<log), uint8(32-log)
	for n, i := range order {
		x.filed[n] = newFiled(entries[i])
		x.min = min(x.min, entries[i].Rank)
		if n+1 == len(order) || grams[order[n+1]] != grams[i] {
			x.file(grams[i], uint32(n+1))
		}
	}
	return x
}

func newFiled(e Entry) filed {
	b := e.Pattern.body()
	sh := &b.shape
	if b.plain != nil {
		sh = b.plain
	}
	ends := !sh.Exact && sh.Suffix == "" && len(sh.Fragments) == 0
	return filed{e, sh.Prefix, sh.Suffix, sh, b.plain != nil, b.plain != nil || sh.Exact || sh.Ordered, ends}
}

// file puts a gram into the table whose patterns end before hi.
func (x *setIndex) file(gram, hi uint32) {
	hash := gramHash(gram)
	x.bitmap[hash>>26] |= 1 << (hash >> 20 % 64)
	at := int(hash >> x.slot)
	for x.slots[at].hi != 0 {
		at = (at + 1) & (len(x.slots) - 1)
	}
	x.slots[at] = gramSlot{gram, x.end, hi}
	x.end = hi
}

// literals returns the texts that every match has, as the index sees them.
func (s *Shape) literals() []string {
	if s.Exact {
		return []string{endings + s.Prefix + endings}
	}
	return append([]string{endings + s.Prefix, s.Suffix + endings}, s.Fragments...)
}

// eachGram calls f for each gram of a literal.
func eachGram(literal string, f func(gram uint32)) {
	gram := uint32(0)
	for i := range len(literal) {
		if gram = addByte(gram, literal[i]); i >= gramLen-1 {
			f(gram)
		}
	}
}

// rarestGrams returns for each entry the gram that the fewest others have, about: those
// of the same hash are counted together. Of equals it is the last: the first is how a text
// begins, and many texts begin alike. It is 0 for an entry that has none.
func rarestGrams(entries []Entry) []uint32 {
	log := min(max(bits.Len(uint(len(entries)))+3, 8), 20)
	counts := make([]uint32, 1<<log)
	count := func(gram uint32) *uint32 { return &counts[gramHash(gram)>>(32-log)] }
	for _, e := range entries {
		for _, lit := range e.Pattern.shape().literals() {
			eachGram(lit, func(gram uint32) { *count(gram)++ })
		}
	}
	grams := make([]uint32, len(entries))
	for i, e := range entries {
		least := none
		for _, lit := range e.Pattern.shape().literals() {
			eachGram(lit, func(gram uint32) {
				if n := *count(gram); n <= least && gram != 0 {
					grams[i], least = gram, n
				}
			})
		}
	}
	return grams
}
