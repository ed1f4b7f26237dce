// Package scripted plays the model of an agent: a server on the loopback interface
// that asks for a list of tool calls, one after the other, in the forms in which
// models are talked to (Messages, Responses, Chat Completions, Gemini's).
//
// It owns the forms and the list. It starts no agent and judges none: `obstat doctor
// --drive` and the laboratory do.
package scripted
