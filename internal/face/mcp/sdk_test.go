package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eras are the revisions that are tried: the newest, which has no sessions, and older ones.
var eras = []string{"2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"}

// TestSDK: the official SDK on both sides, in every era.
func TestSDK(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, []string{"mcp__toy__echo", "mcp__toy__touch", "mcp__toy__large", "mcp__toy__prompts_get"}, nil, []string{"mcp__toy__erase", "mcp__toy__resources_read"})
			s := l.connect(l.gateway(nil), era, nil)
			if text, failed := l.call(s, "echo", map[string]any{"text": "hä"}); text != "hä" || failed {
				t.Errorf("echo: %q %v", text, failed)
			}
			made := filepath.Join(l.dir, "made.txt")
			if text, failed := l.call(s, "touch", map[string]any{"path": made}); failed {
				t.Errorf("touch: %s", text)
			}
			if _, err := os.Stat(made); err != nil {
				t.Error(err)
			}
			text, failed := l.call(s, "erase", map[string]any{"path": made})
			if !failed || !strings.Contains(text, "obstat denied erase: deny rule mcp__toy__erase") || !strings.Contains(text, "settings.json:") {
				t.Errorf("erase: %q %v", text, failed)
			}
			if _, err := os.Stat(made); err != nil {
				t.Error("the denied call was made:", err)
			}
			tools, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
				if tool.Name == "echo" && tool.Meta["obstat/verdict"] != "ask to allow" {
					t.Errorf("echo's verdict: %v", tool.Meta)
				}
			}
			if !slices.Contains(names, "echo") || slices.Contains(names, "erase") {
				t.Errorf("tools: %v", names)
			}
			if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///tmp/notes.txt"}); err == nil || !strings.Contains(err.Error(), "obstat denied resources/read") {
				t.Errorf("resource: %v", err)
			}
			if _, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"}); err != nil {
				t.Errorf("prompt: %v", err)
			}
		})
	}
}

// TestElicited: a call that asks is asked in the client, in the form of its era.
func TestElicited(t *testing.T) {
	for _, era := range eras[:3] {
		for answer, want := range map[string]string{"once": "hello", "no": "refused by", "decline": "refused by", "cancel": "no person has refused it"} {
			t.Run(era+" "+answer, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, nil, []string{"mcp__toy__echo"}, nil)
				asked, times := "", 0
				s := l.connect(l.gateway(nil), era, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = r.Params.Message
					if times++; times > 1 {
						return &mcp.ElicitResult{Action: "decline"}, nil
					}
					if answer == "decline" {
						time.Sleep(1100 * time.Millisecond) // as a person would, at the least
					}
					if answer == "decline" || answer == "cancel" {
						return &mcp.ElicitResult{Action: answer}, nil
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer}}, nil
				}})
				text, failed := l.call(s, "echo", map[string]any{"text": "hello"})
				if !strings.Contains(text, want) || failed != (answer != "once") {
					t.Errorf("%q %v", text, failed)
				}
				if !strings.Contains(asked, `mcp__toy__echo`) || !strings.Contains(asked, "hello") {
					t.Errorf("asked: %q", asked)
				}
				if text, failed := l.call(s, "echo", map[string]any{"text": "hello"}); !failed || times != 2 {
					t.Errorf("the answer was for one run, but asked %d times: %q", times, text)
				}
			})
		}
	}
}
