package main

import (
	"syscall"
	"time"
)

// cpu returns the CPU time of the process: on a busy machine the wall clock
// measures the neighbours as well.
func cpu() time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
