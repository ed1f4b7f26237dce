package pattern

import "math/bits"

const (
	gramLen   = 4 // bytes that the filter looks at
	pieceLen  = 8 // bytes that tell whether a bucket is worth a visit
	maxStride = 4
)

// A gramIndex finds, in one pass over a text, the buckets one of whose
// patterns may match because the text holds a piece of it. A small bitmap of
// hashed grams, four bytes each, answers for almost every place of the text; a
// hash table, whose slots hold the pieces, answers for the rest. Where all
// pieces are long enough, only every second, third or fourth place is looked
// at: as many grams of each piece are filed that one of them must be met.
type gramIndex struct {
	min    uint32 // the lowest rank of all buckets
	stride int
	bitmap []uint64
	shift  uint8 // of a hash, to a bit of bitmap
	slots  []gramSlot
	slot   uint8 // shift of a hash, to a slot
}

type gramSlot struct {
	gram   uint32
	bucket uint32 // 0: free
	bytes  uint64 // the piece
	size   uint8  // its length
	back   uint8  // how far before the gram it starts
}

// A pieceKey is a piece and where the grams under which it is filed begin.
type pieceKey struct {
	text string
	gram int
}

func gramAt(s string, i int) uint32 {
	s = s[i : i+gramLen]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func gramHash(gram uint32) uint32 { return gram * 0x9E3779B1 }

// eightAt returns the size bytes of s at i, eight at most.
func eightAt(s string, i, size int) uint64 {
	if i+pieceLen <= len(s) {
		s = s[i : i+pieceLen]
		all := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		return all & (1<<(8*size) - 1)
	}
	var all uint64
	for k := range size {
		all |= uint64(s[i+k]) << (8 * k)
	}
	return all
}

// newGramIndex builds the filter for buckets by piece.
func newGramIndex(pieces map[pieceKey]uint32, stride int, buckets []bucket) *gramIndex {
	if len(pieces) == 0 {
		return nil
	}
	// With sixteen bits a gram, one place in sixteen is left to the table. More
	// pay while the bitmap stays near.
	log := bits.Len(uint(len(pieces) * stride))
	bitsLog, slotsLog := min(max(log+4, min(max(log+7, 12), 17)), 22), log+1
	g := &gramIndex{
		min:    none,
		stride: stride,
		bitmap: make([]uint64, 1<<(bitsLog-6)),
		shift:  uint8(32 - bitsLog),
		slots:  make([]gramSlot, 1<<slotsLog),
		slot:   uint8(32 - slotsLog),
	}
	for key, bucket := range pieces {
		g.min = min(g.min, buckets[bucket].min)
		for k := range stride {
			g.file(key, key.gram+k, bucket)
		}
	}
	return g
}

// file files the piece of key under its gram at back.
func (g *gramIndex) file(key pieceKey, back int, bucket uint32) {
	gram := gramAt(key.text, back)
	h := gramHash(gram)
	bit := h >> g.shift
	g.bitmap[bit>>6] |= 1 << (bit & 63)
	i := int(h >> g.slot)
	for g.slots[i].bucket != 0 {
		i = (i + 1) & (len(g.slots) - 1)
	}
	size := len(key.text)
	g.slots[i] = gramSlot{gram, bucket, eightAt(key.text, 0, size), uint8(size), uint8(back)}
}

// holds reports whether the piece of s is in text, its gram at i.
func (s *gramSlot) holds(text string, i int) bool {
	i -= int(s.back)
	size := int(s.size)
	return i >= 0 && i+size <= len(text) && eightAt(text, i, size) == s.bytes
}

// scan visits the buckets whose pieces the text holds.
func (q *search) scan(g *gramIndex) {
	text, bitmap, shift, stride := q.text, g.bitmap, g.shift&31, g.stride
	for i := 0; i+gramLen <= len(text); i += stride {
		gram := gramAt(text, i)
		hash := gramHash(gram)
		bit := hash >> shift
		if bitmap[bit>>6]>>(bit&63)&1 != 0 {
			q.probe(g, i, gram, hash)
		}
	}
	if q.marks != nil {
		clear(*q.marks)
		q.set.seen.Put(q.marks)
	}
}

// probe looks the gram at i up in the table.
func (q *search) probe(g *gramIndex, i int, gram, hash uint32) {
	for at := int(hash >> (g.slot & 31)); ; at = (at + 1) & (len(g.slots) - 1) {
		s := &g.slots[at]
		if s.bucket == 0 {
			return
		}
		if s.gram == gram && s.holds(q.text, i) && q.set.buckets[s.bucket].min < q.best && q.firstSight(s.bucket) {
			q.visit(s.bucket)
		}
	}
}

// gramCounts tells about how many patterns hold a gram: grams of the same hash
// are counted together.
type gramCounts struct {
	counts []uint32
	shift  uint8
}

func newGramCounts(patterns int) gramCounts {
	log := min(max(bits.Len(uint(patterns))+3, 8), 20)
	return gramCounts{counts: make([]uint32, 1<<log), shift: uint8(32 - log)}
}

func (c *gramCounts) add(literal string) {
	for i := 0; i+gramLen <= len(literal); i++ {
		c.counts[gramHash(gramAt(literal, i))>>c.shift]++
	}
}

// rarest returns the piece of literals whose first stride grams are held by
// the fewest patterns, and by how many on average; 0 when no literal is long
// enough.
func (c *gramCounts) rarest(literals []string, stride int) (key pieceKey, sharers int) {
	need := gramLen + stride - 1
	least := ^uint32(0)
	for _, lit := range literals {
		for i := 0; i+need <= len(lit); i++ {
			var sum uint32
			for k := range stride {
				sum += c.counts[gramHash(gramAt(lit, i+k))>>c.shift]
			}
			if sum < least {
				least = sum
				end := min(i+pieceLen, len(lit))
				start := max(end-pieceLen, 0)
				key = pieceKey{lit[start:end], i - start}
			}
		}
	}
	if key.text == "" {
		return key, 0
	}
	return key, max(int(least)/stride, 1)
}
