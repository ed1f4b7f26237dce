// Package faces holds a test that sends the same calls through every face of
// obstat - the library, check, hook, gate and the hosts - and wants the same
// verdict, rule and reason from each.
//
// A new face is one line in the list of faces_test.go.
package faces
