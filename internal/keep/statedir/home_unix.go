//go:build !windows

package statedir

const homeVariable = "HOME"
