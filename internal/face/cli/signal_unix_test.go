//go:build unix

package cli

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// TestEndsInOrder: systemd and Kubernetes end a server with SIGTERM, which lets it end what is
// under way. Without that the signal ends the test.
func TestEndsInOrder(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		err := untilInterrupt(func(ctx context.Context, _ []string) error {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		})(t.Context(), nil)
		if err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}
