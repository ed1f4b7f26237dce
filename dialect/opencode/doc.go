// Package opencode is the dialect of opencode: opencode.json and .jsonc, the
// .opencode/config.json of the document, and agent files in Markdown.
//
// It owns how these files are read and merged (config.go, section.go,
// markdown.go, agents.go), their meaning as a Program (program.go), the asks of each
// tool (view.go, asks.go, filetools.go, bash.go, external.go), the patterns
// that "always" remembers (always.go, arity.go), writing a rule back (edit.go,
// place.go). Asks that wait for a reply are package host/opencode's.
//
// The document takes the first rule that matches, with minimatch; the shipped
// program takes the last, with a wildcard of its own. Both are here, as the
// option order. The package decides nothing itself: the engine runs the Program
// that Load returns, and shell text is read by packages shell and effect.
package opencode
