package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// object is a JSON object on its way out.
type object = map[string]any

// LastWords are the model's words when its list is at an end.
const LastWords = "done"

// events writes server-sent events.
type events struct {
	w   io.Writer
	err error
}

// send writes one event; name may be empty.
func (e *events) send(name string, v any) {
	if e.err != nil {
		return
	}
	data, err := json.Marshal(v)
	if err != nil {
		e.err = err
		return
	}
	if name != "" {
		_, e.err = fmt.Fprintf(e.w, "event: %s\n", name)
	}
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, "data: %s\n\n", data)
	}
}

// arguments returns a call's arguments as JSON text.
func (c *Call) arguments() string {
	if c.Args == nil {
		return "{}"
	}
	b, err := json.Marshal(c.Args)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// content is text that some forms write as a string, others as a list of
// typed parts.
type content struct{ text string }

// UnmarshalJSON reads either.
func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &c.text)
	}
	var parts []struct {
		Text   string `json:"text"`
		Sealed string `json:"encrypted_content"` // only their own servers seal it
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		c.text = string(b) // null, or an object: its JSON is good enough to look at
		return nil
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text+p.Sealed)
	}
	c.text = strings.Join(all, "\n")
	return nil
}
