package scripted

import (
	"encoding/json"
	"io"
)

// gemini is the form of Gemini's streamGenerateContent.
type gemini struct{}

func (gemini) read(body []byte) (*conversation, error) {
	var req struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string `json:"text"`
				Function *struct {
					Response json.RawMessage `json:"response"`
				} `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	c := &conversation{}
	for _, m := range req.Contents {
		if m.Role == "model" {
			continue
		}
		for _, p := range m.Parts {
			if p.Function != nil {
				c.results = append(c.results, string(p.Function.Response))
			} else {
				c.user = append(c.user, p.Text)
			}
		}
	}
	return c, nil
}

func (gemini) write(w io.Writer, t *turn) error {
	id, calls := t.id, t.calls
	e := &events{w: w}
	var parts []any
	for _, call := range calls {
		args := call.Args
		if args == nil {
			args = object{}
		}
		parts = append(parts, object{"functionCall": object{"id": call.id, "name": call.Tool, "args": args}})
	}
	if parts == nil {
		parts = []any{object{"text": t.words}}
	}
	e.send("", object{"candidates": []any{object{"index": 0, "finishReason": "STOP",
		"content": object{"role": "model", "parts": parts}}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		"modelVersion":  "scripted", "responseId": id})
	return e.err
}
