// Package opencode is the dialect of opencode: opencode.json and .jsonc, the
// .opencode/config.json of the document, and agent files in Markdown.
//
// It owns how these files are read and merged (config.go, section.go,
// markdown.go, agents.go), what they mean as a Program (program.go), what each
// tool asks (view.go, asks.go, filetools.go, bash.go, external.go), the patterns
// that "always" remembers (always.go, arity.go), writing a rule back (edit.go,
// place.go), and what is left of the document: hidden tools and subagents
// (agentrules.go). Asks that wait for a reply are package host/opencode's.
//
// The document takes the first rule that matches, with minimatch; the shipped
// program takes the last, with a wildcard of its own. Both are here, as the
// option order. The package decides nothing itself: the engine runs the Program
// that Load returns, and what shell text would run is the business of packages
// shell and effect.
package opencode
