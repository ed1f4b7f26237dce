// Package attack holds attacks on confined runs, and the test that makes them: each does harm when it is run bare, and
// none through the gate, under the policy `balanced` with `confine: code`.
//
// It owns testdata/attacks.txt, a table that grows with every way that is thought of. It holds no code of the product:
// the mechanism's own attacks, system call by system call, are those of package confine.
package attack
