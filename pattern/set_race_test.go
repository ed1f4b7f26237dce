//go:build race

package pattern

// underRace: the race detector makes sync.Pool forget at random, so that what
// is pooled is allocated again.
const underRace = true
