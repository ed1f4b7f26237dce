package hookrun

// roomy lets the stack grow to its final size at once, while it is small: each
// time it grows, everything on it is moved. The array is never made.
//
//go:noinline
func roomy(never bool) byte {
	if never {
		var room [40 << 10]byte
		return touch(&room)
	}
	return 0
}

//go:noinline
func touch(b *[40 << 10]byte) byte { return b[len(b)/2] }
