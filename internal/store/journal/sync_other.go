//go:build !linux

package journal

import "os"

// SyncData makes a file's content durable.
func SyncData(f *os.File) error { return f.Sync() }
