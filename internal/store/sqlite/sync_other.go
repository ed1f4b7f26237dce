//go:build !linux

package sqlite

import "os"

func syncData(f *os.File) error { return f.Sync() }
