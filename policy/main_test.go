package policy_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain gives the tests a home of their own.
func TestMain(m *testing.M) {
	if role := os.Getenv("OBSTAT_TEST_ROLE"); role != "" {
		actAs(role)
		return
	}
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, value := range map[string]string{"HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""} {
		os.Setenv(name, value)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}
