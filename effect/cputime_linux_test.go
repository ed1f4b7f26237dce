package effect

import (
	"syscall"
	"time"
)

// cpuTime is the processor time of this thread: other load on the machine does not count.
func cpuTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var r syscall.Rusage
	if syscall.Getrusage(thisThread, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
