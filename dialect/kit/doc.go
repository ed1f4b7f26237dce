// Package kit is for authors of dialects: it reads files with positions and problems, reads calls'
// arguments, makes libraries and offers, and names what a view may answer besides its questions.
//
// It owns no dialect and no decision. Programs that only use dialects need package dialect alone.
package kit
