//go:build !race

package pattern

const underRace = false
