package scripted

import (
	"encoding/json"
	"io"
)

// responses is OpenAI's Responses form.
type responses struct{}

func (responses) read(body []byte) (*conversation, error) {
	var req struct {
		Input []struct {
			Type    string  `json:"type"`
			Role    string  `json:"role"`
			Content content `json:"content"`
			Output  content `json:"output"`
		} `json:"input"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, err
	}
	c := &conversation{}
	for _, item := range req.Input {
		switch item.Type {
		case "message", "":
			if item.Role == "user" {
				c.user = append(c.user, item.Content.text)
			}
		case "agent_message": // the task of a subagent
			c.user = append(c.user, item.Content.text)
		case "function_call_output", "custom_tool_call_output":
			c.results = append(c.results, item.Output.text)
		}
	}
	return c, nil
}

func (responses) write(w io.Writer, t *turn) error {
	id, calls := t.id, t.calls
	e := &events{w: w}
	send := func(name string, v object) {
		v["type"] = name
		e.send(name, v)
	}
	response := object{"id": "resp_" + id, "object": "response", "status": "in_progress", "model": "scripted",
		"output": []any{}}
	send("response.created", object{"response": response})
	if calls == nil {
		calls = []*Call{nil}
	}
	var output []any
	for i, call := range calls {
		item := call.item(id, t.words)
		output = append(output, item)
		send("response.output_item.added", object{"output_index": i, "item": item})
		switch {
		case call == nil:
			send("response.output_text.delta", object{"output_index": i, "content_index": 0, "item_id": item["id"],
				"delta": t.words})
		case call.Args == nil:
			send("response.custom_tool_call_input.delta", object{"output_index": i, "item_id": item["id"], "call_id": call.id,
				"delta": call.Text})
		default:
			send("response.function_call_arguments.delta", object{"output_index": i, "item_id": item["id"],
				"delta": call.arguments()})
		}
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	response = object{"id": "resp_" + id, "object": "response", "status": "completed", "model": "scripted",
		"output": output, "usage": object{
			"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 5,
			"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 15}}
	send("response.completed", object{"response": response})
	return e.err
}

// item returns the model's output: a call, or words where c is nil.
func (c *Call) item(id, words string) object {
	if c == nil {
		return object{"type": "message", "id": "item_" + id, "role": "assistant", "status": "completed",
			"content": []any{object{"type": "output_text", "text": words, "annotations": []any{}}}}
	}
	item := object{"type": "function_call", "id": "item_" + c.id, "call_id": c.id, "name": c.Tool,
		"arguments": c.arguments(), "status": "completed"}
	if c.Args == nil {
		item = object{"type": "custom_tool_call", "id": "item_" + c.id, "call_id": c.id, "name": c.Tool, "input": c.Text,
			"status": "completed"}
	}
	if c.Namespace != "" {
		item["namespace"] = c.Namespace
	}
	return item
}
