//go:build !linux

package ledger

import "os"

func syncData(f *os.File) error { return f.Sync() }

// writable tells whether the file system that a file is on takes writes; that is not
// known here, so that records are written first.
func writable(*os.File) bool { return false }
