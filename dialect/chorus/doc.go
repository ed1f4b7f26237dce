// Package chorus is the dialect of Chorus's permission profiles: every tool call
// has an action string, and a profile's regular expressions allow it, ask a
// human, or, where none matches, deny.
//
// It owns the action strings, the presets and custom profiles with their files
// ([Dialect]), and the role check for changes of an agent's own profile. Confirmations and audit rows are package
// host/chorus's.
package chorus
