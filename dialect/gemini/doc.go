// Package gemini is the dialect of Gemini CLI's policy engine: TOML files of rules with
// priorities, in tiers.
//
// The first rule that matches decides, by tier, then by priority. A rule looks at the
// name of a tool and, with a regular expression of JavaScript, at its arguments as JSON.
//
// It owns that format. Rules that settings.json stands for (`tools.exclude`,
// `mcp.allowed`) are Gemini CLI's own, and are not read.
package gemini
