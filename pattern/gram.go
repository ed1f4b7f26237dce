package pattern

import "math/bits"

// gramLen is the length of the pieces of text that the filter looks for.
const gramLen = 4

// A gramIndex finds, in one pass over a text, the buckets one of whose
// patterns may match because the text holds a piece of it. A small bitmap
// answers for almost every place of the text, a hash table for the rest.
type gramIndex struct {
	min    uint32 // the lowest rank of all buckets
	bitmap []uint64
	shift  uint8 // of a hash, to a bit of bitmap
	slots  []gramSlot
	slot   uint8 // shift of a hash, to a slot
}

type gramSlot struct {
	gram   uint32
	bucket uint32 // 0: free
}

// gramAt returns the piece of s at i.
func gramAt(s string, i int) uint32 {
	s = s[i : i+gramLen]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func gramHash(gram uint32) uint32 { return gram * 0x9E3779B1 }

// newGramIndex builds the filter for buckets by gram.
func newGramIndex(byGram map[uint32]uint32, buckets []bucket) *gramIndex {
	if len(byGram) == 0 {
		return nil
	}
	// Sixteen bits a gram leave one place in sixteen to the table.
	bitsLog := min(max(bits.Len(uint(len(byGram)))+4, 8), 22)
	slotsLog := bits.Len(uint(len(byGram))) + 1
	g := &gramIndex{
		min:    none,
		bitmap: make([]uint64, 1<<(bitsLog-6)),
		shift:  uint8(32 - bitsLog),
		slots:  make([]gramSlot, 1<<slotsLog),
		slot:   uint8(32 - slotsLog),
	}
	for gram, bucket := range byGram {
		g.min = min(g.min, buckets[bucket].min)
		h := gramHash(gram)
		bit := h >> g.shift
		g.bitmap[bit>>6] |= 1 << (bit & 63)
		i := int(h >> g.slot)
		for g.slots[i].bucket != 0 {
			i = (i + 1) & (len(g.slots) - 1)
		}
		g.slots[i] = gramSlot{gram, bucket}
	}
	return g
}

// bucketOf returns the bucket of gram, or 0.
func (g *gramIndex) bucketOf(gram, hash uint32) uint32 {
	for i := int(hash >> g.slot); ; i = (i + 1) & (len(g.slots) - 1) {
		if s := g.slots[i]; s.gram == gram || s.bucket == 0 {
			return s.bucket
		}
	}
}

// gramCounts tells about how many patterns hold a piece: pieces of the same
// hash are counted together.
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

// rarest returns the piece of literals that the fewest patterns hold, and how
// many that are; 0 when the literals are too short to have one.
func (c *gramCounts) rarest(literals []string) (gram uint32, sharers int) {
	for _, lit := range literals {
		for i := 0; i+gramLen <= len(lit); i++ {
			g := gramAt(lit, i)
			n := int(c.counts[gramHash(g)>>c.shift])
			if sharers == 0 || n < sharers {
				gram, sharers = g, n
			}
		}
	}
	return gram, sharers
}
