//go:build !unix

package policy

// identity is not known here: a directory that was renamed has to be accepted again.
func identity(string) string { return "" }
