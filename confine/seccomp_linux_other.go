//go:build linux && !amd64 && !arm64

package confine

// filterArch 0 means that no filter was written for this architecture: Probe says so.
const filterArch = 0

var deniedHere = []uint32{}
