// Package gemini is the dialect of Gemini CLI's policy engine: TOML files of rules with
// priorities, in tiers.
//
// The first rule that matches decides, by tier, then by priority. A rule looks at the
// name of a tool and, with a regular expression of JavaScript, at its arguments as JSON.
//
// It owns that format, and the lists of settings.json that stand for rules (`tools.exclude`,
// `mcp.allowed`).
package gemini
