// Package killed runs a process and kills it when it is about to change files for the nth time, for tests of stores
// that must not lose anything by that.
//
// It owns the tracing. It does not know which files are changed, nor how a store is put in order afterwards.
package killed
