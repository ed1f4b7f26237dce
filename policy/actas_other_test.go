//go:build !linux

package policy_test

func actAs(string) {}
