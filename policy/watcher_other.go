//go:build !linux

package policy

// kernelEvents would come from the kernel; there are none here.
type kernelEvents struct{}

func newKernelEvents() *kernelEvents { return nil }

func (*kernelEvents) add(string) (int32, bool) { return 0, false }

func (*kernelEvents) read(func(int32, string) bool) bool { return true }
