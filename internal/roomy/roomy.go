// Package roomy lets a program's first stack grow to its final size at once.
//
// A stack begins with two kilobytes and doubles when that is not enough; each
// time, everything on it is moved. A process that lives for one call notices
// that. Importing this package is all there is to it: it imports nothing, and so
// it is the first to be initialized of all that need some stack for that.
package roomy

var _ = grow(len("never") == 0)

// grow has a frame so large that the stack has to grow before it is entered.
//
//go:noinline
func grow(never bool) byte {
	if never {
		var room [40 << 10]byte
		return touch(&room)
	}
	return 0
}

//go:noinline
func touch(b *[40 << 10]byte) byte { return b[len(b)/2] }
