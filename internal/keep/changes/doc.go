// Package changes keeps the files that calls change, so that each change can be looked at and taken back.
//
// It owns the store of earlier contents in obstat's state, the list of changes with the state of every path before
// and after, and putting an earlier state back as a whole: whatever kills it, the next one to open the store ends
// what was begun. It does not know which paths a call will change, nor who may take a change back.
package changes
