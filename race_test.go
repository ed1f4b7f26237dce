//go:build race

package obstat_test

// underRace: the race detector makes sync.Pool forget at random.
const underRace = true
