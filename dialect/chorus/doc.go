// Package chorus is the dialect of Chorus's permission profiles: every tool call
// has an action string, and a profile's regular expressions allow it, ask a
// human, or, where none matches, deny.
//
// It owns the action strings, the presets and custom profiles with their files
// ([Dialect]), the role check for changes of an agent's own profile, the filter
// of the tool list ([Filter]), the flow of a confirmation ([Confirmer]), the
// audit rows and the step that puts all of it together ([Gate]). It does not
// talk to Discord: the module chorusdiscord does, through [Channel].
package chorus
