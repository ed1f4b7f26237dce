package pattern

// A check is a pattern to be verified.
type check struct {
	pattern *Pattern
	rank    uint32
	kind    checkKind
}

type checkKind uint8

const (
	checkLiterals checkKind = iota // the literals of the shape are all there is to it
	checkFast                      // to be matched after the literals
	checkRegular                   // a general regular expression, best left to an automaton
	checkSlow                      // may run out of time
)

// kindOf tells how p is verified.
func kindOf(p *Pattern) checkKind {
	sh := &p.body().shape
	switch {
	case sh.Exact, sh.Ordered:
		return checkLiterals
	case p.general() && p.regular() == "":
		return checkSlow
	case p.general():
		return checkRegular
	}
	return checkFast
}

// general reports whether p is an expression of any kind.
func (p *Pattern) general() bool { return p.flavour == Full || p.flavour == Search }

// A bucket holds the patterns filed under one literal; each kind by rank.
type bucket struct {
	min           uint32 // the lowest rank
	lo, slow, end uint32 // checks[lo:slow] are soon verified, checks[slow:end] are slow
	dfa           int32  // index of the automaton for the regular ones, or -1
}

const (
	fewSharers = 4    // patterns of a bucket that one need not divide
	fewAble    = 8    // patterns of a bucket that are matched one by one
	fewKeyless = 1    // the same, of those that have no key
	maxJoined  = 1000 // patterns with a bad key that share the automaton of those without
)

// A setBuilder files the entries of a Set, which are in the order of their ranks.
type setBuilder struct {
	entries      []Entry
	set          *setIndex
	heads, tails []radixKey
	checks       []check  // what must be verified, by rank
	bucketOf     []uint32 // of each check

	prefixes, suffixes map[string]int // how many checks could be filed there
	pieces             gramCounts
	keyless, joined    int // regular checks that have no key; that are filed as if they had none

	byPrefix, bySuffix map[string]uint32 // buckets
	byPiece            map[pieceKey]uint32
	stride             int
	sizes              []uint32 // of the buckets
}

func newSetIndex(entries []Entry) *setIndex {
	b := setBuilder{entries: entries, set: &setIndex{}}
	b.build()
	return b.set
}

func (b *setBuilder) build() {
	for _, e := range b.entries {
		if !b.direct(e) {
			b.checks = append(b.checks, check{e.Pattern, e.Rank, kindOf(e.Pattern)})
		}
	}
	b.count()
	b.bucketOf = make([]uint32, len(b.checks))
	b.sizes = make([]uint32, 1, len(b.checks)/2+2)
	var loose []int
	for i := range b.checks {
		if !b.fileByEnd(i) {
			loose = append(loose, i)
		}
	}
	b.fileByPiece(loose)
	b.fillBuckets()
	b.index()
}

// direct files a pattern that its literal decides; it reports whether e is one.
func (b *setBuilder) direct(e Entry) bool {
	sh := &e.Pattern.body().shape
	switch {
	case sh.Exact:
		b.heads = append(b.heads, radixKey{key: sh.Prefix, kind: keyExact, min: e.Rank})
	case !sh.Ordered || len(sh.Fragments) > 0 || sh.Prefix != "" && sh.Suffix != "":
		return false
	case sh.Suffix == "":
		b.heads = append(b.heads, radixKey{key: sh.Prefix, kind: keyPrefix, min: e.Rank})
	default:
		b.tails = append(b.tails, radixKey{key: sh.Suffix, kind: keyPrefix, min: e.Rank})
	}
	return true
}

// count notes how many checks share each literal.
func (b *setBuilder) count() {
	b.prefixes, b.suffixes = map[string]int{}, map[string]int{}
	b.byPrefix, b.bySuffix, b.byPiece = map[string]uint32{}, map[string]uint32{}, map[pieceKey]uint32{}
	b.pieces = newGramCounts(len(b.checks))
	for i := range b.checks {
		sh := &b.checks[i].pattern.body().shape
		if b.checks[i].kind == checkRegular && sh.keyless() {
			b.keyless++
		}
		b.prefixes[sh.Prefix]++
		b.suffixes[sh.Suffix]++
		for _, f := range sh.Fragments {
			b.pieces.add(f)
		}
	}
}

// fileByEnd files a check under its prefix or its suffix, unless fewer share a
// piece of its middle. Among few sharers the end that is looked up first wins.
func (b *setBuilder) fileByEnd(i int) bool {
	const unusable = int(^uint(0) >> 1)
	sh := &b.checks[i].pattern.body().shape
	prefix, suffix := unusable, unusable
	if sh.Prefix != "" {
		prefix = max(b.prefixes[sh.Prefix], fewSharers)
	}
	if sh.Suffix != "" {
		suffix = max(b.suffixes[sh.Suffix], fewSharers)
	}
	piece := unusable
	if _, sharers := b.pieces.rarest(sh.Fragments, 1); sharers > 0 {
		piece = max(sharers, fewSharers)
	}
	switch {
	case b.checks[i].kind == checkRegular && b.keyless > fewKeyless && b.joined < maxJoined &&
		(len(sh.Prefix) < gramLen || prefix > fewAble) && (len(sh.Suffix) < gramLen || suffix > fewAble) && piece > fewAble:
		// Every text will run the automaton of those without a key, so those
		// with a bad key come along for nothing.
		b.joined++
		b.file(i, numberOf(b, b.byPrefix, ""))
	case piece < min(prefix, suffix):
		return false
	case prefix <= suffix:
		b.file(i, numberOf(b, b.byPrefix, sh.Prefix))
	default:
		b.file(i, numberOf(b, b.bySuffix, sh.Suffix))
	}
	return true
}

// fileByPiece files checks under a piece of a fragment. A few whose fragments
// are all short are better verified too often than that every text be looked at
// in every place for their sake.
func (b *setBuilder) fileByPiece(checks []int) {
	const long = gramLen + maxStride - 1
	short, shortest := 0, long
	for _, i := range checks {
		if n := b.longest(i); n < long {
			short++
			shortest = min(shortest, n)
		}
	}
	b.stride = shortest - gramLen + 1
	if short <= fewSharers {
		b.stride = maxStride
	}
	for _, i := range checks {
		sh := &b.checks[i].pattern.body().shape
		switch key, sharers := b.pieces.rarest(sh.Fragments, b.stride); {
		case sharers > 0:
			b.file(i, numberOf(b, b.byPiece, key))
		case sh.Prefix == "" && sh.Suffix != "":
			b.file(i, numberOf(b, b.bySuffix, sh.Suffix))
		default:
			b.file(i, numberOf(b, b.byPrefix, sh.Prefix))
		}
	}
}

// longest returns the length of the longest fragment of a check.
func (b *setBuilder) longest(i int) int {
	n := 0
	for _, f := range b.checks[i].pattern.body().shape.Fragments {
		n = max(n, len(f))
	}
	return n
}

// file puts a check into a bucket.
func (b *setBuilder) file(i int, bucket uint32) {
	b.bucketOf[i] = bucket
	b.sizes[bucket]++
}

// numberOf returns the bucket of key, a new one if there is none yet.
func numberOf[K comparable](b *setBuilder, buckets map[K]uint32, key K) uint32 {
	n, ok := buckets[key]
	if !ok {
		n = uint32(len(b.sizes))
		b.sizes = append(b.sizes, 0)
		buckets[key] = n
	}
	return n
}

// fillBuckets moves the checks to their buckets.
func (b *setBuilder) fillBuckets() {
	next := make([]uint32, len(b.sizes))
	var at uint32
	for n, size := range b.sizes {
		next[n] = at
		at += size
	}
	sorted := make([]check, len(b.checks))
	for i, c := range b.checks {
		n := b.bucketOf[i]
		sorted[next[n]] = c
		next[n]++
		if c.kind == checkSlow {
			b.set.slow = append(b.set.slow, c)
		}
	}
	b.set.checks = sorted
	b.set.buckets = make([]bucket, len(b.sizes))
	var scratch []check
	for n, size := range b.sizes {
		b.set.buckets[n], scratch = b.newBucket(next[n]-size, next[n], scratch)
	}
}

// newBucket makes the bucket of checks[lo:hi] and puts those in the order of
// their kinds.
func (b *setBuilder) newBucket(lo, hi uint32, scratch []check) (bucket, []check) {
	bk := bucket{min: none, lo: lo, slow: hi, end: hi, dfa: -1}
	if lo == hi {
		return bk, scratch
	}
	members := b.set.checks[lo:hi]
	bk.min = members[0].rank
	regular := regularIn(members)
	slow := func(c *check) bool { return c.kind == checkSlow }
	quick := func(c *check) bool { return !slow(c) && !regular(c) }
	scratch = append(scratch[:0], members...)
	kept := members[:0]
	kept = appendIf(kept, scratch, quick)
	bk.slow = lo + uint32(len(kept))
	kept = appendIf(kept, scratch, slow)
	bk.end = lo + uint32(len(kept))
	if bk.end < hi {
		bk.dfa = int32(len(b.set.dfas))
		b.set.dfas = append(b.set.dfas, newDFA(appendIf(kept, scratch, regular)[len(kept):]))
	}
	return bk, scratch
}

// regularIn tells which members of a bucket an automaton should answer: those
// that it can, unless they are few and the text's literals rule most of them out.
func regularIn(members []check) func(*check) bool {
	able := func(c *check) bool {
		return c.pattern.regular() != "" && (c.kind == checkRegular || c.kind == checkFast)
	}
	count, keyless := 0, 0
	for i := range members {
		if c := &members[i]; able(c) {
			count++
			if c.kind == checkRegular && c.pattern.body().shape.keyless() {
				keyless++
			}
		}
	}
	if count <= fewAble && keyless <= fewKeyless {
		return func(*check) bool { return false }
	}
	return able
}

func appendIf(to, from []check, keep func(*check) bool) []check {
	for i := range from {
		if keep(&from[i]) {
			to = append(to, from[i])
		}
	}
	return to
}

// index builds the look-up structures over the buckets.
func (b *setBuilder) index() {
	s := b.set
	for key, n := range b.byPrefix {
		b.heads = append(b.heads, radixKey{key: key, kind: keyBucket, bucket: n, min: s.buckets[n].min})
	}
	for key, n := range b.bySuffix {
		b.tails = append(b.tails, radixKey{key: key, kind: keyBucket, bucket: n, min: s.buckets[n].min})
	}
	s.heads = newRadix(b.heads, false)
	if len(b.tails) > 0 {
		s.tails = newRadix(b.tails, true)
	}
	s.grams = newGramIndex(b.byPiece, b.stride, s.buckets)
}
