package minisign

import (
	"encoding/binary"
	"math/bits"
)

// iv is the initial state of BLAKE2b, the words of SHA-512's.
var iv = [8]uint64{0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179}

// sigma is the order of the message's words in each round (RFC 7693, 2.7).
var sigma = [10][16]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

// lanes are the words of the state that a round mixes: columns, then diagonals.
var lanes = [8][4]byte{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15},
	{0, 5, 10, 15}, {1, 6, 11, 12}, {2, 7, 8, 13}, {3, 4, 9, 14}}

// blake2b512 is BLAKE2b with 64 bytes and no key, which the standard library does not have and
// minisign hashes files with before it signs.
func blake2b512(data []byte) [64]byte {
	h := iv
	h[0] ^= 0x01010000 ^ 64
	done := uint64(0)
	for len(data) > 128 {
		done += 128
		h = compress(h, [128]byte(data[:128]), done, false)
		data = data[128:]
	}
	var last [128]byte
	copy(last[:], data)
	h = compress(h, last, done+uint64(len(data)), true)
	var out [64]byte
	for i, w := range h {
		binary.LittleEndian.PutUint64(out[8*i:], w)
	}
	return out
}

func compress(h [8]uint64, block [128]byte, n uint64, last bool) [8]uint64 {
	var m, v [16]uint64
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(block[8*i:])
	}
	copy(v[:8], h[:])
	copy(v[8:], iv[:])
	v[12] ^= n
	if last {
		v[14] = ^v[14]
	}
	for round := range 12 {
		order := &sigma[round%10]
		for i, l := range lanes {
			a, b, c, d := &v[l[0]], &v[l[1]], &v[l[2]], &v[l[3]]
			*a += *b + m[order[2*i]]
			*d = bits.RotateLeft64(*d^*a, -32)
			*c += *d
			*b = bits.RotateLeft64(*b^*c, -24)
			*a += *b + m[order[2*i+1]]
			*d = bits.RotateLeft64(*d^*a, -16)
			*c += *d
			*b = bits.RotateLeft64(*b^*c, -63)
		}
	}
	for i := range h {
		h[i] ^= v[i] ^ v[i+8]
	}
	return h
}
