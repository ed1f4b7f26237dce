package scripted

import (
	"encoding/json"
	"io"
)

// chat is OpenAI's Chat Completions form.
type chat struct{}

func (chat) read(body []byte) (*conversation, error) {
	var req struct {
		Messages []struct {
			Role    string  `json:"role"`
			Content content `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	c := &conversation{}
	for _, m := range req.Messages {
		switch m.Role {
		case "user":
			c.user = append(c.user, m.Content.text)
		case "tool":
			c.results = append(c.results, m.Content.text)
		}
	}
	return c, nil
}

func (chat) write(w io.Writer, t *turn) error {
	id, calls := t.id, t.calls
	e := &events{w: w}
	chunk := func(choices ...any) object {
		if choices == nil {
			choices = []any{}
		}
		return object{"id": "chatcmpl-" + id, "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": choices}
	}
	choice := func(delta object, finish any) object {
		return object{"index": 0, "delta": delta, "finish_reason": finish}
	}
	finish := "stop"
	if calls == nil {
		e.send("", chunk(choice(object{"role": "assistant", "content": t.words}, nil)))
	}
	for i, call := range calls {
		finish = "tool_calls"
		e.send("", chunk(choice(object{"role": "assistant", "content": nil,
			"tool_calls": []any{object{"index": i, "id": call.id, "type": "function",
				"function": object{"name": call.Tool, "arguments": ""}}}}, nil)))
		e.send("", chunk(choice(object{"tool_calls": []any{object{"index": i,
			"function": object{"arguments": call.arguments()}}}}, nil)))
	}
	e.send("", chunk(choice(object{}, finish)))
	usage := chunk()
	usage["usage"] = object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	e.send("", usage)
	if e.err == nil {
		_, e.err = io.WriteString(w, "data: [DONE]\n\n")
	}
	return e.err
}
