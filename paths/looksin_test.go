package paths

import "testing"

func TestLooksIn(t *testing.T) {
	for pattern, want := range map[string]string{
		"/p/certs/*.pem": "/p/certs", "/p/c[ab]/x": "/p", "/p/certs/server.pe?": "/p/certs", "/*": "/", "*": ".",
		"/p/certs/": "/p/certs", "/p/a/*/b?": "/p/a",
	} {
		if got := LooksIn(pattern); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}
