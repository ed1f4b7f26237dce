// Package mcp is the face of the gate for servers of the Model Context Protocol: it
// stands between a client (an agent) and a server, and lets a call pass only
// after the gate has allowed it.
//
//	agent ── tools/call ──► obstat mcp ── the same bytes ──► server
//	agent ◄── a result that says why ── (denied, or asked and refused)
//
// Messages are relayed byte for byte. Two things are rewritten: lists of tools, which
// lose the tools that no call could use, and calls whose arguments a person has
// changed. `tools/call`, `resources/read`, `prompts/get`, a server's sampling and its
// wish for roots are calls; they are put to the gate as `mcp__SERVER__TOOL`, the name
// that rules of every dialect know.
//
// The package owns the messages, the two transports, the ways to ask a person
// through the client, and the digests of tools (pins). It does not decide, remember
// or record: the gate does, and policy keeps the pins.
package mcp
