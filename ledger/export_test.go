package ledger

// CrashingSpool is a spool whose process dies where crash says so.
func CrashingSpool(path string, crash func(step string) bool) *Spool {
	return &Spool{Path: path, crash: crash}
}
