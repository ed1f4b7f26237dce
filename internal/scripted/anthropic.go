package scripted

import (
	"encoding/json"
	"io"
)

// anthropic is the Messages form.
type anthropic struct{}

func (anthropic) read(body []byte) (*conversation, error) {
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	c := &conversation{}
	for _, m := range req.Messages {
		if m.Role != "user" {
			continue
		}
		var blocks []struct {
			Type    string  `json:"type"`
			Text    string  `json:"text"`
			Content content `json:"content"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			var text string
			if err := json.Unmarshal(m.Content, &text); err != nil {
				return nil, err
			}
			c.user = append(c.user, text)
			continue
		}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				c.user = append(c.user, b.Text)
			case "tool_result":
				c.results = append(c.results, b.Content.text)
			}
		}
	}
	return c, nil
}

func (anthropic) write(w io.Writer, t *turn) error {
	id, calls := t.id, t.calls
	e := &events{w: w}
	send := func(name string, v object) {
		v["type"] = name
		e.send(name, v)
	}
	send("message_start", object{"message": object{"id": "msg_" + id, "type": "message", "role": "assistant",
		"model": "scripted", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 1}}})
	stop := "end_turn"
	if calls == nil {
		send("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		send("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": t.words}})
		send("content_block_stop", object{"index": 0})
	}
	for i, call := range calls {
		stop = "tool_use"
		send("content_block_start", object{"index": i, "content_block": object{"type": "tool_use", "id": "toolu_" +
			call.id, "name": call.Tool, "input": object{}}})
		send("content_block_delta", object{"index": i, "delta": object{"type": "input_json_delta",
			"partial_json": call.arguments()}})
		send("content_block_stop", object{"index": i})
	}
	delta := object{"stop_reason": stop, "stop_sequence": nil}
	if t.verdict != "" && calls != nil {
		delta["safeguard_results"] = safeguards(t)
	}
	send("message_delta", object{"delta": delta, "usage": object{"output_tokens": 5}})
	send("message_stop", object{})
	return e.err
}

// The words of Claude Code's classifier, which the server says beside the model's calls.
const (
	ClassifierAllows  = "not_flagged"
	ClassifierFlags   = "flagged"
	ClassifierGarbled = "garbled" // no word that it knows
)

// safeguards are the classifier's results for the calls of a turn.
func safeguards(t *turn) any {
	uses := object{}
	for _, call := range t.calls {
		uses["toolu_"+call.id] = object{"type": "evaluated", "outcome": t.verdict, "explanation": "the script says so"}
	}
	return []any{object{"type": "dangerous_tool_use", "status": object{"type": "available", "tool_uses": uses}}}
}
