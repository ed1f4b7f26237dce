//go:build !linux

package policy

// kernelEvents are what the kernel says has happened; nothing here.
type kernelEvents struct{}

func newKernelEvents() *kernelEvents { return nil }

func (*kernelEvents) add(string) (int32, bool) { return 0, false }

func (*kernelEvents) read(func(int32, string) bool) bool { return true }
