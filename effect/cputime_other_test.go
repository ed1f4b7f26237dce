//go:build !linux

package effect

import "time"

var began = time.Now()

// cpuTime is the time since the start: best measured on a machine that does nothing else.
func cpuTime() time.Duration { return time.Since(began) }
