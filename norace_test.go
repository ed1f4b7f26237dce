//go:build !race

package obstat_test

const underRace = false
