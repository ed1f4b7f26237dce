package hook

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// watch calls stop when the process is told to end, and when the agent that
// started it has gone: nobody would hear the answer any more. It ends with ctx.
func watch(ctx context.Context, stop func()) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	parent := os.Getppid()
	go func() {
		defer signal.Stop(told)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-told:
				stop()
			case <-tick.C:
				if os.Getppid() != parent {
					stop()
				}
			}
		}
	}()
}
