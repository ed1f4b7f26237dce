package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
)

// A wire is a gateway with both ends in the test's hands: what each side is sent is
// seen byte for byte.
type wire struct {
	t        *testing.T
	s        *session
	station  *Station
	home     string
	client   *peer // what the client is sent
	server   *peer
	in, out  *io.PipeWriter // what the client and the server say
	finished sync.WaitGroup
	log      *syncBuffer
}

// A peer is an end that remembers the lines it is sent.
type peer struct {
	lines chan string
	mu    sync.Mutex
	gone  bool
}

func (p *peer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return 0, io.ErrClosedPipe
	}
	p.lines <- strings.TrimSuffix(string(b), "\n")
	return len(b), nil
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newWire opens a gateway named toy under a policy of Claude Code's.
func newWire(t *testing.T, permissions string) *wire { return newWireWith(t, permissions, nil) }

// newWireWith is newWire with a guard that is changed before its session.
func newWireWith(t *testing.T, permissions string, change func(*Station, *Guard)) *wire {
	t.Helper()
	home := t.TempDir()
	w := &wire{t: t, home: home, client: &peer{lines: make(chan string, 20_000)}, server: &peer{lines: make(chan string, 20_000)}, log: new(syncBuffer)}
	w.write(".claude/settings.json", `{"permissions":`+permissions+`}`)
	w.write("project/.keep", "")
	env := map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state"), "XDG_CONFIG_HOME": filepath.Join(home, "config")}
	st, err := Open(t.Context(), Options{Dir: filepath.Join(home, "project"), Home: home, Getenv: func(k string) string { return env[k] }, Log: w.log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	g, err := st.Guard("toy")
	if err != nil {
		t.Fatal(err)
	}
	w.station = st
	if change != nil {
		change(st, g)
	}
	to, from := &sink{w: w.server}, &sink{w: w.client}
	w.s = g.session(func(_ string, msg []byte) error { return from.write(msg) }, to.write)
	w.s.id = "s"
	var in, out *io.PipeReader
	in, w.in = io.Pipe()
	out, w.out = io.Pipe()
	w.finished.Go(func() { w.s.readClient(t.Context(), in) })
	w.finished.Go(func() { _ = w.s.readServer(t.Context(), out) })
	t.Cleanup(func() {
		w.in.Close()
		w.out.Close()
		w.finished.Wait()
	})
	return w
}

func (w *wire) write(name, text string) {
	w.t.Helper()
	name = filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// says sends a line from the client, answers one from the server.
func (w *wire) says(line string)    { fmt.Fprintf(w.in, "%s\n", line) }
func (w *wire) answers(line string) { fmt.Fprintf(w.out, "%s\n", line) }

// next returns the next line that an end is sent.
func (w *wire) next(p *peer) string {
	w.t.Helper()
	select {
	case line := <-p.lines:
		return line
	case <-time.After(time.Minute):
		w.t.Fatalf("nothing came; the log says %s", w.log)
		return ""
	}
}

// quiet wants that an end was sent nothing: the order of what it is sent is that of what was
// said, so that a ping tells.
func (w *wire) quiet(p *peer) {
	w.t.Helper()
	if n := len(p.lines); n > 0 {
		w.t.Errorf("it was sent %s", <-p.lines)
	}
}

// lists shows the tools to the gateway, and takes what comes of it.
func (w *wire) lists(tools ...string) string {
	w.t.Helper()
	w.says(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	w.next(w.server)
	for i, name := range tools {
		if !strings.HasPrefix(name, "{") {
			tools[i] = fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
		}
	}
	w.answers(`{"jsonrpc":"2.0","id":"list","result":{"tools":[` + strings.Join(tools, ",") + `]}}`)
	return w.next(w.client)
}

const open = `{"allow":["mcp__toy"],"deny":["mcp__toy__erase"],"ask":["mcp__toy__ask"]}`

// TestCorpus: 500 exchanges of many kinds; what is not refused arrives with identical bytes.
func TestCorpus(t *testing.T) {
	w := newWire(t, open)
	w.lists("echo", "erase", "ask")
	rnd := rand.New(rand.NewPCG(1, 2))
	blank := func() string { return []string{"", " ", "  ", "\t", " \r"}[rnd.IntN(5)] }
	texts := []string{`hello`, `hä \u00e4 \ud83d\ude00`, `\n\t\"\\`, `{\"a\":1}`, `日本語`, strings.Repeat("x", 5000), `</script>`, `\u0000`}
	ids := func(i int) string {
		if i%3 == 0 {
			return fmt.Sprintf(`"id-%d"`, i)
		}
		return fmt.Sprint(i)
	}
	passed, refused := 0, 0
	for i := range 500 {
		id, text := ids(i), texts[rnd.IntN(len(texts))]
		j := func(s string) string { return strings.ReplaceAll(s, "~", blank()) }
		switch kind := i % 10; kind {
		case 0, 1, 2: // allowed calls, with whatever else is in them
			w.through(j(`{~"jsonrpc"~:"2.0",~"id":`+id+`,"method":"tools/call","params":{"name":"echo",~"arguments":{"text":"`+text+`","n":[1,2.50,1e3,null,{"deep":{"er":true}}]},"_meta":{"progressToken":`+id+`,"x/y":1}},"extra":{"k":[1]}}`),
				j(`{~"result":{"content":[{"type":"text","text":"`+text+`"}],"structuredContent":{"a":1.0},~"isError":false,"unknown":1},"jsonrpc":"2.0","id":`+id+`}`))
			passed += 2
		case 3: // an error of the server's
			w.through(`{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"echo"}}`, j(`{"jsonrpc":"2.0","id":`+id+`,~"error":{"code":-32603,"message":"`+text+`","data":{"z":1}}}`))
			passed += 2
		case 4: // other requests
			method := []string{"ping", "resources/list", "prompts/list", "completion/complete", "logging/setLevel", "resources/templates/list", "server/discover"}[rnd.IntN(7)]
			w.through(j(`{"method":"`+method+`",~"jsonrpc":"2.0","id":`+id+`,"params":{"level":"info"}}`), j(`{"jsonrpc":"2.0","id":`+id+`,"result":{~}}`))
			passed += 2
		case 5: // notifications, both ways
			w.one(w.says, w.server, j(`{"jsonrpc":"2.0",~"method":"notifications/cancelled","params":{"requestId":99999,"reason":"`+text+`"}}`))
			w.one(w.answers, w.client, j(`{"jsonrpc":"2.0",~"method":"notifications/progress","params":{"progressToken":7,"progress":0.5,"message":"`+text+`"}}`))
			w.one(w.answers, w.client, j(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info",~"data":"`+text+`"}}`))
			passed += 3
		case 6: // a request of the server's
			w.one(w.answers, w.client, j(`{"jsonrpc":"2.0","id":`+id+`,~"method":"elicitation/create","params":{"message":"`+text+`","requestedSchema":{}}}`))
			w.one(w.says, w.server, j(`{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept",~"content":{"a":1}}}`))
			passed += 2
		case 7: // denied calls never arrive
			w.says(j(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{~"name":"erase","arguments":{"path":"` + text + `"}}}`))
			if got := w.next(w.client); !strings.Contains(got, "obstat denied erase") || !strings.Contains(got, `"id":`+id) || !strings.Contains(got, `"isError":true`) {
				t.Fatalf("%s", got)
			}
			refused++
		case 8: // resources and prompts
			w.through(j(`{"jsonrpc":"2.0","id":`+id+`,"method":"resources/read","params":{~"uri":"test://x"}}`), `{"jsonrpc":"2.0","id":`+id+`,"result":{"contents":[]}}`)
			w.through(j(`{"jsonrpc":"2.0","id":"p`+fmt.Sprint(i)+`","method":"prompts/get","params":{"name":"greet",~"arguments":{"a":"`+text+`"}}}`), `{"jsonrpc":"2.0","id":"p`+fmt.Sprint(i)+`","result":{"messages":[]}}`)
			passed += 4
		case 9: // several at once, answered in another order
			for k := range 3 {
				w.one(w.says, w.server, fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d-%d","method":"tools/call","params":{"name":"echo","arguments":{"k":%d}}}`, i, k, k))
			}
			for _, k := range []int{2, 0, 1} {
				w.one(w.answers, w.client, fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d-%d","result":{"content":[],"k":%d}}`, i, k, k))
			}
			passed += 6
		}
	}
	w.quiet(w.client)
	w.quiet(w.server)
	t.Logf("500 exchanges: %d messages arrived with identical bytes, %d calls were refused", passed, refused)
}

// through sends a request and its answer, and wants both to arrive as they were sent.
func (w *wire) through(request, response string) {
	w.t.Helper()
	w.one(w.says, w.server, request)
	w.one(w.answers, w.client, response)
}

func (w *wire) one(say func(string), to *peer, line string) {
	w.t.Helper()
	say(line)
	if got := w.next(to); got != line {
		w.t.Fatalf("sent    %q\narrived %q", line, got)
	}
}

// TestLarge: results of a megabyte and more pass, with identical bytes.
func TestLarge(t *testing.T) {
	w := newWire(t, open)
	w.lists("echo")
	for _, n := range []int{1 << 20, 8 << 20} {
		w.through(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+strings.Repeat("y", n)+`"}]}}`)
	}
}

// TestBadClient: what a client may not send does not arrive; it hears why.
func TestBadClient(t *testing.T) {
	long := strings.Repeat("n", 10_000)
	for name, tt := range map[string]struct{ line, want string }{
		"truncated":           {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ec`, `"id":5,"error":{"code":-32700`},
		"two methods":         {`{"jsonrpc":"2.0","id":5,"method":"ping","method":"tools/call"}`, "stands twice"},
		"method in capitals":  {`{"jsonrpc":"2.0","id":5,"method":"ping","Method":"tools/call"}`, "id"},
		"two ids":             {`{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}`, "twice"},
		"two names":           {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","name":"erase"}}`, `"id":5,"error"`},
		"name in capitals":    {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","NAME":"erase"}}`, `"id":5,"error"`},
		"two arguments":       {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"path":"a","path":"b"}}}`, `"id":5,"error"`},
		"batch":               {`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, `"id":null,"error":{"code":-32600,"message":"obstat: the message is refused: batches`},
		"null id":             {`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"erase"}}`, "the id has to be"},
		"fraction id":         {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "the id has to be"},
		"exponent id":         {`{"jsonrpc":"2.0","id":1e0,"method":"ping"}`, "the id has to be"},
		"huge id":             {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "the id has to be"},
		"true id":             {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "the id has to be"},
		"object id":           {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "the id has to be"},
		"long id":             {`{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`, "the id is longer"},
		"not UTF-8":           {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"ec\xffho\"}}", `"id":5,"error"`},
		"no version":          {`{"id":5,"method":"ping"}`, "jsonrpc"},
		"request and answer":  {`{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}`, "at once"},
		"params is a list":    {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":["erase"]}`, "params is not an object"},
		"arguments is a list": {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":["x"]}}`, "arguments is not an object"},
		"name is a number":    {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}`, "params.name is not a text"},
		"no name":             {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}`, "it has no name"},
		"control characters":  {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ec\u001b[2Jho"}}`, "no person would see"},
		"hidden characters":   {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo\u200b"}}`, "no person would see"},
		"10 kB name":          {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"` + long + `"}}`, "has 10000 bytes"},
		"two values":          {`{"jsonrpc":"2.0","id":5,"method":"ping"}{"jsonrpc":"2.0","id":6,"method":"tools/call"}`, "after the end"},
		"deep":                {`{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`, `"id":5,"error"`},
		"50 MB":               {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"x":"` + strings.Repeat("z", 50<<20) + `"}}}`, "longer than 16777216 bytes"},
		"unknown method":      {`{"jsonrpc":"2.0","id":5,"method":"erase","params":{}}`, "obstat denied erase"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, `{"allow":["mcp__toy__echo"],"deny":["mcp__toy__erase"]}`)
			w.lists("echo", "erase")
			w.says(tt.line)
			if got := w.next(w.client); !strings.Contains(got, tt.want) {
				t.Errorf("the client hears %.300s, want %q", got, tt.want)
			}
			w.through(`{"jsonrpc":"2.0","id":50,"method":"ping"}`, `{"jsonrpc":"2.0","id":50,"result":{}}`)
			w.quiet(w.server)
		})
	}
}

// TestBadServer: what a server may not send does not arrive, and both sides hear of it.
func TestBadServer(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo"}}`
	ok := `{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`
	for name, tt := range map[string]struct {
		lines        []string
		client, mind string // what the client hears, and the server
	}{
		"answers twice":       {[]string{ok, ok}, "nothing waits for the id 5", `"notifications/cancelled"`},
		"another id":          {[]string{`{"jsonrpc":"2.0","id":6,"result":{}}`, ok}, "nothing waits for the id 6", "nothing waits for a response"},
		"a text for a number": {[]string{`{"jsonrpc":"2.0","id":"5","result":{}}`, ok}, `nothing waits for the id \"5\"`, "nothing waits for a response"},
		"truncated":           {[]string{`{"jsonrpc":"2.0","id":5,"result":{"content":[`}, `"id":5,"error"`, ""},
		"words":               {[]string{`Server running on stdio`, ok}, "was refused", ""},
		"not UTF-8":           {[]string{"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":\"\xc3\x28\"}}"}, `"id":5,"error"`, ""},
		"two results":         {[]string{`{"jsonrpc":"2.0","id":5,"result":{},"result":{"x":1}}`}, `"id":5,"error"`, ""},
		"result and error":    {[]string{`{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":""}}`}, `"id":5,"error"`, ""},
		"50 MB":               {[]string{`{"jsonrpc":"2.0","id":5,"result":{"x":"` + strings.Repeat("z", 50<<20) + `"}}`}, "longer than", ""},
		"50 MB, id last":      {[]string{`{"result":{"x":"` + strings.Repeat("z", 50<<20) + `"},"jsonrpc":"2.0","id":5}`}, "longer than", ""},
		"batch":               {[]string{`[` + ok + `]`, ok}, "batches", ""},
		"asks twice": {[]string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`}, `"method":"ping"`,
			"a request with this id is under way"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, open)
			w.lists("echo")
			w.s.logs = true
			w.one(w.says, w.server, call)
			for _, line := range tt.lines {
				w.answers(line)
			}
			heard := ""
			for !strings.Contains(heard, tt.client) {
				heard += w.next(w.client)
			}
			if tt.mind != "" {
				if got := w.next(w.server); !strings.Contains(got, tt.mind) {
					t.Errorf("the server hears %s, want %q", got, tt.mind)
				}
			}
			if !strings.Contains(w.log.String(), "server's") && tt.client != `"method":"ping"` {
				t.Errorf("the log says %q", w.log)
			}
		})
	}
}

// TestStrayAnswers: a client cannot answer what it was not asked: neither the server's
// requests nor the gateway's own.
func TestStrayAnswers(t *testing.T) {
	w := newWire(t, open)
	w.lists("ask")
	for _, id := range []string{`1`, `"obstat-1"`, `"list"`} {
		w.says(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"answer":"once"}}}`)
	}
	w.through(`{"jsonrpc":"2.0","id":50,"method":"ping"}`, `{"jsonrpc":"2.0","id":50,"result":{}}`)
	w.quiet(w.server)
	if n := strings.Count(w.log.String(), "nothing was asked"); n != 3 {
		t.Errorf("%d of 3 are told: %s", n, w.log)
	}
}

// TestManyTools: a list of 10,000 tools is filtered, one that is longer is refused.
func TestManyTools(t *testing.T) {
	w := newWire(t, `{"allow":["mcp__toy"],"deny":["mcp__toy__t7"]}`)
	tools := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("t%d", i))
		}
		return out
	}
	var got struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(w.lists(tools(10_000)...)), &got); err != nil || len(got.Result.Tools) != 9_999 {
		t.Errorf("%d tools, %v", len(got.Result.Tools), err)
	}
	if line := w.lists(tools(10_001)...); !strings.Contains(line, "lists 10001 tools; more than 10000 are refused") {
		t.Errorf("%.300s", line)
	}
}

// TestHiddenNames: tools whose names no person could read, or that stand twice, are not shown.
func TestHiddenNames(t *testing.T) {
	w := newWire(t, open)
	line := w.lists("echo", `{"name":"e\u001b[1mcho"}`, `{"name":"`+strings.Repeat("n", 10_000)+`"}`, "echo", `{"name":7}`, `{"name":"\u202eohce"}`)
	if strings.Count(line, `"name"`) != 1 || !strings.Contains(line, `"name":"echo"`) {
		t.Errorf("%.500s", line)
	}
}

// TestListBytes: of a list, what is not about the policy stays as the server wrote it.
func TestListBytes(t *testing.T) {
	w := newWire(t, `{"allow":["mcp__toy"],"deny":["mcp__toy__erase"]}`)
	w.says(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	w.next(w.server)
	w.answers(`{ "jsonrpc":"2.0","id":1, "result":{"ttlMs":5,"cacheScope":"public","tools":[ {"name":"echo" , "x":1.50} , {"name":"erase"}, {"name":"b","_meta":{ "k":1}} ],"nextCursor":"c1" }}`)
	want := `{ "jsonrpc":"2.0","id":1, "result":{"ttlMs":5,"cacheScope":"private","tools":[{"name":"echo" , "x":1.50,"_meta":{"obstat/verdict":"ask to allow"}},{"name":"b","_meta":{"obstat/verdict":"ask to allow", "k":1}}],"nextCursor":"c1" }}`
	if got := w.next(w.client); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestHalfClosed: a client that has closed its end still gets the answers to what it asked.
func TestHalfClosed(t *testing.T) {
	w := newWire(t, open)
	w.lists("echo")
	w.one(w.says, w.server, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo"}}`)
	w.in.Close()
	w.one(w.answers, w.client, `{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`)
	w.s.drained(nil)
}

// TestCutOff: a message that the stream ends in the middle of is not taken for a whole one.
func TestCutOff(t *testing.T) {
	w := newWire(t, open)
	w.lists("echo")
	fmt.Fprint(w.in, `{"jsonrpc":"2.0","id":5,"method":"ping"}`) // no newline
	w.in.Close()
	fmt.Fprint(w.out, `{"jsonrpc":"2.0","method":"notifications/message"}`)
	w.out.Close()
	w.finished.Wait()
	w.quiet(w.server)
	if n := strings.Count(w.log.String(), "in the middle of a message"); n != 2 {
		t.Errorf("the log says %s", w.log)
	}
}

// TestWithdrawn: a call that waits for a person can be withdrawn; the server hears of neither.
func TestWithdrawn(t *testing.T) {
	w := newWire(t, open)
	w.lists("ask")
	w.s.Hold = time.Minute
	w.s.Gate = w.station.forms // as if somebody ran obstat ask
	w.says(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ask"}}`)
	broker := func() int {
		st, err := w.station.open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		all, err := st.Requests(context.Background(), pendingOnly)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	for i := 0; broker() == 0; i++ {
		if i > 3000 {
			t.Fatal("no request was put")
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.says(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
	for i := 0; broker() > 0; i++ {
		if i > 3000 {
			t.Fatal("the request was not withdrawn")
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.through(`{"jsonrpc":"2.0","id":50,"method":"ping"}`, `{"jsonrpc":"2.0","id":50,"result":{}}`)
	w.quiet(w.server)
}

// FuzzFrame: whatever is read as a message is read as the same by encoding/json, and
// nothing panics.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":1}}}`, `{"jsonrpc":"2.0","id":"x","result":{}}`, `[]`, `{"id":1e9}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := (&reader{fold: 3}).read(raw)
		if err != nil {
			return
		}
		var v struct {
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if json.Unmarshal(raw, &v) != nil || v.Method != m.method || m.method == "tools/call" && v.Params.Name != m.name {
			t.Errorf("%s is read as %+v and as %+v", raw, m, v)
		}
		_ = bufio.NewReader(bytes.NewReader(m.with(nil)))
	})
}

var pendingOnly = approval.Query{State: approval.Pending}
