package pattern

import "slices"

// kindOf tells how p is verified.
func kindOf(p *Pattern) checkKind {
	sh := p.shape()
	switch {
	case sh.Exact, sh.Ordered:
		return checkLiterals
	case p.general() && p.regular() == nil:
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
	fewChecks  = 12   // checks of a Set that need no key
	fewSharers = 4    // patterns of a bucket that one need not divide
	fewAble    = 8    // patterns of a bucket that are matched one by one
	fewKeyless = 1    // the same, of those that have no key
	maxJoined  = 1000 // patterns with a bad key that share the automaton of those without
)

// A setBuilder files the entries of a Set, which are in the order of their ranks.
type setBuilder struct {
	set          *setIndex
	heads, tails []radixKey
	drafts       []checkDraft // checks without a place, by rank
	lits         []byte

	prefixes, suffixes map[string]int // how many checks could be filed there
	pieces             gramCounts
	keyless, joined    int // regular checks that have no key; that are filed as if they had none

	byPrefix, bySuffix map[string]uint32 // buckets
	byPiece            map[pieceKey]uint32
	stride             int
	sizes              []uint32 // of the buckets
}

// A checkDraft is a check that has no place yet.
type checkDraft struct {
	form
	pattern *Pattern // nil: the form is all
	rank    uint32
	kind    checkKind
	flags   checkFlags
	bucket  uint32
}

// keyless reports whether there is no literal to file d under.
func (d *checkDraft) keyless() bool { return keyless(d.prefix, d.suffix, d.fragments) }

// newSetIndex builds the index of s for plain texts, or for all.
func newSetIndex(s *Set, plain bool) *setIndex {
	b := newSetBuilder(s, plain)
	if b.short() {
		b.fileTogether()
	} else {
		b.fileByKeys()
	}
	return b.set
}

func newSetBuilder(s *Set, plain bool) *setBuilder {
	b := &setBuilder{set: &setIndex{pool: &s.pool}, drafts: make([]checkDraft, 0, len(s.entries)), sizes: make([]uint32, 1)}
	for _, e := range s.entries {
		b.add(e, plain)
	}
	return b
}

// add takes in the forms of a pattern, or the pattern. A pattern with forms is not
// asked itself any more, so that its body need not stay.
func (b *setBuilder) add(e Entry, plain bool) {
	if plain {
		if p, ok := e.Pattern.plain(); ok {
			b.set.unless |= p.unless
			for _, f := range p.forms {
				b.drafts = append(b.drafts, checkDraft{form: f, rank: e.Rank})
			}
			e.Pattern.forget()
			return
		}
	}
	sh := e.Pattern.shape()
	d := checkDraft{form: form{prefix: sh.Prefix, suffix: sh.Suffix, fragments: sh.Fragments, exact: sh.Exact}, rank: e.Rank, kind: kindOf(e.Pattern)}
	if d.kind != checkLiterals || !d.fits() {
		d.kind, d.pattern = max(d.kind, checkFast), e.Pattern
		d.trim()
	}
	b.drafts = append(b.drafts, d)
}

// fileTogether puts everything into one bucket.
func (b *setBuilder) fileTogether() {
	b.sizes = append(b.sizes, 0)
	for i := range b.drafts {
		b.file(&b.drafts[i], 1)
	}
	b.fillBuckets()
	b.set.literal = !slices.ContainsFunc(b.drafts, func(d checkDraft) bool { return d.pattern != nil })
}

// fileByKeys files everything under a literal, if it has one.
func (b *setBuilder) fileByKeys() {
	drafts := b.drafts[:0]
	for i := range b.drafts {
		if d := &b.drafts[i]; !b.direct(d) {
			drafts = append(drafts, *d)
		}
	}
	b.drafts = drafts
	b.count()
	var loose []*checkDraft
	for i := range b.drafts {
		if d := &b.drafts[i]; !b.fileByEnd(d) {
			loose = append(loose, d)
		}
	}
	b.fileByPiece(loose)
	b.fillBuckets()
	b.index()
}

// short reports whether the checks are so few that they are as well asked one
// by one.
func (b *setBuilder) short() bool {
	patterns := 0
	for i := range b.drafts {
		if b.drafts[i].pattern != nil {
			patterns++
		}
	}
	return patterns <= fewSharers && len(b.drafts) <= fewChecks
}

// direct files a form that its literal decides; it reports whether d is one.
func (b *setBuilder) direct(d *checkDraft) bool {
	switch {
	case d.pattern != nil:
		return false
	case d.exact:
		b.heads = append(b.heads, radixKey{key: d.prefix, kind: keyExact, min: d.rank})
	case d.inside || d.least > 0 || len(d.fragments) > 0 || d.prefix != "" && d.suffix != "":
		return false
	case d.suffix == "":
		b.heads = append(b.heads, radixKey{key: d.prefix, kind: keyPrefix, min: d.rank})
	default:
		b.tails = append(b.tails, radixKey{key: d.suffix, kind: keyPrefix, min: d.rank})
	}
	return true
}

// count notes how many checks share each literal.
func (b *setBuilder) count() {
	b.prefixes, b.suffixes = map[string]int{}, map[string]int{}
	b.byPrefix, b.bySuffix, b.byPiece = map[string]uint32{}, map[string]uint32{}, map[pieceKey]uint32{}
	b.pieces = newGramCounts(len(b.drafts))
	for i := range b.drafts {
		d := &b.drafts[i]
		if d.kind == checkRegular && d.keyless() {
			b.keyless++
		}
		b.prefixes[d.prefix]++
		b.suffixes[d.suffix]++
		for _, f := range d.fragments {
			b.pieces.add(f)
		}
	}
}

// fileByEnd files a check under its prefix or its suffix, unless fewer share a
// piece of its middle. Among few sharers the end that is looked up first wins.
func (b *setBuilder) fileByEnd(d *checkDraft) bool {
	const unusable = int(^uint(0) >> 1)
	prefix, suffix := unusable, unusable
	if d.prefix != "" {
		prefix = max(b.prefixes[d.prefix], fewSharers)
	}
	if d.suffix != "" {
		suffix = max(b.suffixes[d.suffix], fewSharers)
	}
	piece := unusable
	if _, sharers := b.pieces.rarest(d.fragments, 1); sharers > 0 {
		piece = max(sharers, fewSharers)
	}
	switch {
	case d.kind == checkRegular && b.keyless > fewKeyless && b.joined < maxJoined &&
		(len(d.prefix) < gramLen || prefix > fewAble) && (len(d.suffix) < gramLen || suffix > fewAble) && piece > fewAble:
		// Every text will run the automaton of those without a key, so those
		// with a bad key come along for nothing.
		b.joined++
		b.file(d, numberOf(b, b.byPrefix, ""))
	case piece < min(prefix, suffix):
		return false
	case prefix <= suffix:
		b.fileByPrefix(d)
	default:
		b.fileBySuffix(d)
	}
	return true
}

// Whoever meets a check under its whole prefix or suffix need not look for it.
func (b *setBuilder) fileByPrefix(d *checkDraft) {
	d.flags |= startKnown
	b.file(d, numberOf(b, b.byPrefix, d.prefix))
}

func (b *setBuilder) fileBySuffix(d *checkDraft) {
	d.flags |= endKnown
	b.file(d, numberOf(b, b.bySuffix, d.suffix))
}

// fileByPiece files checks under a piece of a fragment. A few whose fragments
// are all short are better verified too often than that every text be looked at
// in every place for their sake.
func (b *setBuilder) fileByPiece(drafts []*checkDraft) {
	const long = gramLen + maxStride - 1
	short, shortest := 0, long
	for _, d := range drafts {
		n := 0
		for _, f := range d.fragments {
			n = max(n, len(f))
		}
		if n < long {
			short++
			shortest = min(shortest, n)
		}
	}
	b.stride = shortest - gramLen + 1
	if short <= fewSharers {
		b.stride = maxStride
	}
	for _, d := range drafts {
		switch key, sharers := b.pieces.rarest(d.fragments, b.stride); {
		case sharers > 0:
			b.file(d, numberOf(b, b.byPiece, key))
		case d.prefix == "" && d.suffix != "":
			b.fileBySuffix(d)
		default:
			b.fileByPrefix(d)
		}
	}
}

// file puts a check into a bucket.
func (b *setBuilder) file(d *checkDraft, bucket uint32) {
	d.bucket = bucket
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
	b.set.checks = make([]check, len(b.drafts))
	for i := range b.drafts {
		d := &b.drafts[i]
		c := b.check(d)
		b.set.checks[next[d.bucket]] = c
		next[d.bucket]++
		if c.kind == checkSlow {
			b.set.slow = append(b.set.slow, c)
		}
	}
	b.set.lits = string(b.lits)
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
		return (c.kind == checkRegular || c.kind == checkFast) && c.pattern.regular() != nil
	}
	count, keyless := 0, 0
	for i := range members {
		if c := &members[i]; c.pattern != nil && c.kind != checkSlow {
			count++
			if c.kind == checkRegular && c.pattern.shape().keyless() {
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
