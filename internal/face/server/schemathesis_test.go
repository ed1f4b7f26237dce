package server_test

import (
	"context"
	"flag"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/face/server"
)

var schemathesis = flag.String("schemathesis", "", "program that makes requests from the OpenAPI document")

// TestSchemathesis: requests that fit the document are taken, others are refused, and answers are as it says. Streams of
// events do not end and are left out; the token that requests are sent with is taken back in a run of its own.
func TestSchemathesis(t *testing.T) {
	if *schemathesis == "" {
		t.Skip("needs schemathesis: make test-openapi")
	}
	s := open(t, func(o *server.Options) { o.AskTimeout = 2 * time.Second })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	config, err := filepath.Abs("testdata/schemathesis.toml")
	must(t, err)
	const taken = "/v1/tokens/{id}"
	for _, run := range []struct {
		token string
		paths []string
	}{
		{s.admin, []string{"--exclude-path", taken, "--exclude-path", "/v1/events", "--exclude-path", "/event"}},
		{s.agent, []string{"--exclude-path", taken, "--exclude-path", "/v1/events", "--exclude-path", "/event"}},
		{s.admin, []string{"--include-path", taken}},
	} {
		args := append([]string{"--config-file", config, "run", s.http.URL + "/openapi.json", "-H",
			"Authorization: Bearer " + run.token, "--request-timeout", "20", "--continue-on-failure", "--max-examples", "30",
			"--generation-deterministic"}, run.paths...)
		cmd := exec.CommandContext(ctx, *schemathesis, args...)
		cmd.Dir = t.TempDir() // it keeps findings there
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
	}
}
