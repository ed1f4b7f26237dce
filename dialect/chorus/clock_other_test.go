//go:build !linux

package chorus_test

import "time"

var clockStart = time.Now()

// threadTime is the wall clock where there is no clock for threads.
func threadTime() time.Duration { return time.Since(clockStart) }
