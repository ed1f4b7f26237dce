package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat/ledger"
)

func masker() *ledger.Masker { return ledger.NewMasker([]byte("0123456789abcdef0123456789abcdef")) }

func TestMaskInput(t *testing.T) {
	const (
		gh  = "ghp" + "_0123456789abcdefghijABCDEFGHIJ012345"
		sk  = "sk-" + "ant-" + "api03-0123456789abcdefghij"
		jwt = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
	)
	quote := func(s string) string {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.Encode(s)
		return strings.TrimSpace(b.String())
	}
	m := masker()
	for _, tt := range []struct{ in, want string }{
		// names of arguments
		{`{"password":"hunter2","user":"ann"}`, `{"password":"[masked]","user":"ann"}`},
		{`{"apiKey": "x", "API-KEY": 17, "dbPassword2": "y", "authtoken": ["a"], "token": null, "secret": true}`,
			`{"apiKey":"[masked]","API-KEY":"[masked]","dbPassword2":"[masked]","authtoken":"[masked]","token":null,"secret":true}`},
		{`{"max_tokens": 100, "key": "name", "spin": "pin", "compass": "north", "next_page_token":"abc"}`, ``},
		{`{"key": "9f8a7b6c5d4e3f2a1b0c"}`, `{"key":"[masked]"}`},
		{`{"password":"a","password":"b"}`, `{"password":"[masked]","password":"[masked]"}`},
		{`{"env":[{"name":"DB_PASSWORD","value":"x"},{"name":"HOME","value":"/root"}]}`, `{"env":[{"name":"DB_PASSWORD","value":"[masked]"},{"name":"HOME","value":"/root"}]}`},
		{`{"argv":["login","--password","hunter2","-v"]}`, `{"argv":["login","--password","[masked]","-v"]}`},
		// secrets that say so themselves
		{quote("git clone with " + gh + " now"), quote("git clone with [masked] now")},
		{quote(sk), quote("[masked]")},
		{quote("x " + jwt), quote("x [masked]")},
		{quote("task-list-of-many-words-1 AKIAIOSFODNN7EXAMPLE"), quote("task-list-of-many-words-1 [masked]")},
		{quote("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest"), quote("[masked]\nrest")},
		{quote("-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----"), ``},
		{`{"` + gh + `":1}`, `{"[masked]":1}`},
		// commands
		{quote(`curl -H "Authorization: Bearer abc" https://x`), quote(`curl -H "Authorization: Bearer [masked]" https://x`)},
		{quote(`curl -H 'Cookie: a=b; c=d' https://x`), quote(`curl -H 'Cookie: [masked]' https://x`)},
		{quote(`psql postgres://ann:p/w@db:5432/x && ls`), quote(`psql postgres://ann:[masked]@db:5432/x && ls`)},
		{quote(`curl https://x:8080/a@b http://h/p?q=1`), ``},
		{quote(`mysql -u root -phunter2 db`), quote(`mysql -u root -p[masked] db`)},
		{quote(`curl -u ann:hunter2 https://x`), quote(`curl -u ann:[masked] https://x`)},
		{quote(`sshpass -p 'hunter 2' ssh h`), quote(`sshpass -p '[masked]' ssh h`)},
		{quote(`x --password hunter2 --token=abc -v`), quote(`x --password [masked] --token=[masked] -v`)},
		{quote(`FOO_TOKEN=abc;rm -rf x`), quote(`FOO_TOKEN=[masked];rm -rf x`)},
		{quote(`export DB_PASSWORD="a b" && make`), quote(`export DB_PASSWORD="[masked]" && make`)},
		{quote(`sh -c "TOKEN=abc" && echo "x"`), quote(`sh -c "TOKEN=[masked]" && echo "x"`)},
		{quote(`TOKEN=$(cat /etc/x) PASSWORD=$PASSWORD`), ``},
		{quote(`docker login --password-stdin registry.example.com`), ``},
		// text in text
		{quote(`{"user":"ann","password":"a\"b c"}`), quote(`{"user":"ann","password":"[masked]"}`)},
		{quote(`"{\"password\":\"a b\",\"x\":1}"`), quote(`"{\"password\":\"[masked]\",\"x\":1}"`)},
		{quote("password: hunter2\nuser: ann"), quote("password: [masked]\nuser: ann")},
		{quote("machine h login u password swordfish"), quote("machine h login u password [masked]")},
		{quote("machine h\n  login u\n  password swordfish\nmachine i"), quote("machine h\n  login u\n  password [masked]\nmachine i")},
		{quote("a machine and its login and password"), quote("a machine and its login and password")},
		{quote(`os.environ["API_KEY"] = 'abc'`), quote(`os.environ["API_KEY"] = '[masked]'`)},
		// what cannot be read
		{`{"a":`, `"[masked]"`}, {`nonsense`, `"[masked]"`},
		{strings.Repeat("[", 50) + `"x"` + strings.Repeat("]", 50), strings.Repeat("[", 33) + `"[masked]"` + strings.Repeat("]", 33)},
		// nothing to do
		{` {"a" : [1, true, "x\u003c"] } `, ``}, {`"[masked]"`, ``}, {`17`, ``},
	} {
		if tt.want == "" {
			tt.want = tt.in
		}
		got, found := m.Input(json.RawMessage(tt.in))
		if string(got) != tt.want {
			t.Errorf("%s\nis %s\nwant %s", tt.in, got, tt.want)
		}
		if (len(found) > 0) != (tt.in != tt.want) {
			t.Errorf("%s: %v", tt.in, found)
		}
		if again, more := m.Input(got); string(again) != string(got) || len(more) > 0 {
			t.Errorf("%s\nmasked again is %s (%v)", got, again, more)
		}
	}
}

func TestMaskedNamesWhatAndWhere(t *testing.T) {
	m := masker()
	_, a := m.Input(json.RawMessage(`{"login":{"pass~/word":"x"},"list":["TOKEN=x"]}`))
	_, b := m.Input(json.RawMessage(`{"secret":"y"}`))
	if len(a) != 2 || a[0].Pointer != "/login/pass~0~1word" || a[1].Pointer != "/list/0" || a[0].Why != "value of pass~/word" {
		t.Fatalf("%+v", a)
	}
	if a[0].Digest == "" || a[0].Digest != a[1].Digest || a[0].Digest == b[0].Digest {
		t.Errorf("digests of equal values %q %q, of another %q", a[0].Digest, a[1].Digest, b[0].Digest)
	}
	_, c := new(ledger.Masker).Input(json.RawMessage(`{"secret":"y"}`))
	if len(c) != 1 || c[0].Digest != "" {
		t.Errorf("without a key: %+v", c)
	}
}

func TestMaskRecord(t *testing.T) {
	m := masker()
	input := json.RawMessage(`{"command":"TOKEN=abc make"}`)
	r := &ledger.Record{Input: input, Reason: "it runs TOKEN=abc make", Detail: json.RawMessage(`{"input":{"password":"x"}}`), Rule: "Bash(TOKEN=abc *)"}
	m.Mask(r)
	text, err := r.Encode()
	if err != nil || strings.Contains(string(text), "abc") || strings.Contains(string(text), `"x"`) {
		t.Errorf("%s %v", text, err)
	}
	if len(r.Masked) != 4 || r.Masked[1].Field != "detail" || r.Masked[0].Digest != r.Masked[2].Digest {
		t.Errorf("%+v", r)
	}
	if string(input) != `{"command":"TOKEN=abc make"}` {
		t.Errorf("the call's input became %s", input)
	}
	n := len(r.Masked)
	if m.Mask(r); len(r.Masked) != n {
		t.Errorf("masked twice: %+v", r.Masked)
	}
}

func TestMaskBounds(t *testing.T) {
	m := masker()
	for name, in := range map[string]string{
		"large":      `"` + strings.Repeat("x", 2<<20) + `"`,
		"deep":       strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000),
		"pairs":      `"` + strings.Repeat("a=a:", 200_000) + `"`,
		"many":       `"` + strings.Repeat("token=x ", 1000) + `"`,
		"many apart": `[` + strings.Repeat(`"token=x",`, 1000) + `1]`,
	} {
		if out, found := m.Input(json.RawMessage(in)); len(found) > 256 || len(out) > len(in) || !json.Valid(out) {
			t.Errorf("%s: %d found, %d bytes", name, len(found), len(out))
		}
	}
}

// FuzzMask plants a secret in a text in the ways that people write them, and the
// text into JSON: it must be gone, and masking again must change nothing.
func FuzzMask(f *testing.F) {
	forms := []string{"password=%", "DB_PASSWORD='%'", `{"api_key": "%"}`, `{\"secret\":\"%\"}`, "Authorization: Bearer %", `-H "X-Api-Key: %"`, "--token %", "postgres://ann:%@host/db",
		"ghp_%%", "sk-ant-%%", "-----BEGIN PRIVATE KEY-----\n%\n-----END PRIVATE KEY-----", "curl -u ann:% x", "cookie: %", "my_token: %", "key=%%", "passwd := `%`"}
	for i := range forms {
		f.Add("run this ", " now", uint8(i), uint8(i%6))
		f.Add("run \"this", "'", uint8(i), uint8(0))
	}
	f.Add(`"'`, `\"`, uint8(0), uint8(0))
	f.Add("https://", "@", uint8(7), uint8(1))
	m := masker()
	f.Fuzz(func(t *testing.T, before, after string, form, where uint8) {
		const secret = "q7Zk2Vx9Lw4Tn8"
		if strings.Contains(before+after, secret) || len(before)+len(after) > 1000 {
			return
		}
		text := before + "\n" + strings.ReplaceAll(forms[int(form)%len(forms)], "%", secret) + "\n" + after
		var v any = text
		switch where % 6 {
		case 1:
			v = map[string]any{"command": text}
		case 2:
			v = []any{before, map[string]any{"x": text, after: before}}
		case 3:
			v = map[string]any{"password": secret, before: after}
		case 4:
			v = map[string]any{text: 1}
		case 5:
			v = map[string]any{"env": map[string]any{"name": "MY_SECRET", "value": secret}, before: after}
		}
		in, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(in), secret) {
			return // another member has its name
		}
		out, found := m.Input(in)
		if strings.Contains(string(out), secret) || len(found) == 0 || !json.Valid(out) {
			t.Fatalf("%s\nleaves %s", in, out)
		}
		if again, more := m.Input(out); string(again) != string(out) || len(more) > 0 {
			t.Fatalf("%s\nbecomes %s (%v)", out, again, more)
		}
		raw, _ := m.Input(json.RawMessage(text))
		if strings.Contains(string(raw), secret) {
			t.Fatalf("%q is not JSON and leaves %s", text, raw)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	m := masker()
	in := json.RawMessage(`{"command":"env CI=1 go test ./internal/... -run TestThing | tee out.txt","description":"Run the tests","timeout":60000}`)
	for b.Loop() {
		m.Input(in)
	}
}

// TestMaskAgain: records that come later are masked as the first ones are, whatever is
// remembered of texts and names.
func TestMaskAgain(t *testing.T) {
	m := ledger.NewMasker(nil)
	for i := range 2000 {
		r := &ledger.Record{Kind: ledger.Decision, Input: []byte(fmt.Sprintf(`{"password":"hunter%d","path":"/src/app%d","text":"use ghp_%036d"}`, i%3, i, i%5)), Reason: "by a rule"}
		m.Mask(r)
		if s := string(r.Input); strings.Contains(s, "hunter") || strings.Contains(s, "ghp_0") || !strings.Contains(s, fmt.Sprintf("/src/app%d", i)) || r.Reason != "by a rule" {
			t.Fatalf("%d: %s", i, s)
		}
	}
}

// TestMaskDetailIsNoInput: JSON that has no secret as a detail, whose fields are ours, is looked at
// again where an agent sends it.
func TestMaskDetailIsNoInput(t *testing.T) {
	m := ledger.NewMasker(nil)
	raw := `{"key":"q8Zk3vR1xT7bN5wL2mC9"}`
	for range 3 {
		r := &ledger.Record{Kind: ledger.Decision, Detail: []byte(raw)}
		if m.Mask(r); string(r.Detail) != raw {
			t.Fatalf("the detail is %s", r.Detail)
		}
		r = &ledger.Record{Kind: ledger.Decision, Input: []byte(raw)}
		if m.Mask(r); strings.Contains(string(r.Input), "q8Zk") {
			t.Fatalf("the input is %s", r.Input)
		}
	}
}
