package hookwait

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// WhileAsked returns a context that ends when the process is told to, and when
// whoever started it has gone: nobody would hear the answer any more.
func WhileAsked(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	parent := os.Getppid()
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if os.Getppid() != parent {
					stop()
					return
				}
			}
		}
	}()
	return ctx, stop
}
