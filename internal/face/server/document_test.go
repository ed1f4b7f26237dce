package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/obstat/obstat/internal/face/server"
)

// TestDocumentOfFaces: what the other protocols' routes take and say is in the document as it is:
// texts for errors of AuthZEN, 202 for a draft's request, /readyz that is not ready. The types of
// the answers are the ones that were sent.
func TestDocumentOfFaces(t *testing.T) {
	lost := false
	s := open(t, func(o *server.Options) { o.Store = noDocs{o.Store, &lost} })
	_, text := s.do("", "GET", "/openapi.json", "")
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	must(t, err)
	doc.Servers = nil
	router, err := gorillamux.NewRouter(doc)
	must(t, err)
	try := func(token, method, path, body string, wantStatus int) string {
		t.Helper()
		request := func() *http.Request {
			req, err := http.NewRequestWithContext(t.Context(), method, s.http.URL+path, strings.NewReader(body))
			must(t, err)
			req.Header.Set("Authorization", "Bearer "+token)
			if body != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			return req
		}
		route, params, err := router.FindRoute(request())
		must(t, err)
		in := &openapi3filter.RequestValidationInput{Request: request(), PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
		if err := openapi3filter.ValidateRequest(t.Context(), in); (err == nil) != (wantStatus < 400 || token == "" || wantStatus == 503) {
			t.Errorf("%s %s: the request %s: %v", method, path, body, err)
		}
		resp, err := s.wire.RoundTrip(request())
		must(t, err)
		defer resp.Body.Close()
		said, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode != wantStatus {
			t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, said)
		}
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header}
		out.SetBodyBytes(said)
		if err := openapi3filter.ValidateResponse(t.Context(), out); err != nil {
			t.Errorf("%s %s: %d %s: %v", method, path, resp.StatusCode, said, err)
		}
		return string(said)
	}
	one := `"subject":{"type":"agent","id":"coder"},"action":{"name":"bash","properties":{"command":"make"}},"resource":{"type":"command","id":""}`
	said := try(s.agent, "POST", "/access/v1/evaluation", "{"+one+"}", 200)
	try(s.agent, "POST", "/access/v1/evaluation", `{"subject":{"id":"u"}}`, 400)
	try("", "POST", "/access/v1/evaluation", "{"+one+"}", 401)
	try(s.agent, "POST", "/access/v1/evaluations", "{"+one+"}", 200)
	try(s.agent, "POST", "/access/v1/evaluations", `{`+one+`,"evaluations":[{},{}],"options":{"evaluations_semantic":"deny_on_first_deny"}}`, 200)
	try(s.agent, "POST", "/access/v1/evaluations", `{`+one+`,"evaluations":[{"subject":{"type":"","id":"u"}},{}]}`, 200) // false, with the error
	find := func(name string) string {
		_, rest, _ := strings.Cut(said, `"`+name+`":"`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	id := find("evaluation_id")
	try(s.agent, "POST", "/access/draft-1/requests", `{"denial":{"evaluation_id":"`+id+`","binding_token":"`+find("binding_token")+`"}}`, 202)
	try(s.agent, "GET", "/access/draft-1/requests/"+id, "", 200)
	try("", "GET", "/readyz", "", 200)
	lost = true
	try("", "GET", "/readyz", "", 503)
}

// TestAllow: a path has its own methods, and not those of a path with a parameter that it would fit.
func TestAllow(t *testing.T) {
	s := open(t, nil)
	for path, want := range map[string]string{"/v1/policies/rollback": "POST", "/v1/policies/validate": "POST",
		"/v1/requests/answer": "POST", "/v1/policies/7": "GET", "/v1/tokens": "GET, POST"} {
		for _, method := range []string{"OPTIONS", "GET"} {
			if method == "GET" && strings.HasPrefix(want, "GET") {
				continue
			}
			req, err := http.NewRequestWithContext(t.Context(), method, s.http.URL+path, nil)
			must(t, err)
			req.Header.Set("Authorization", "Bearer "+s.admin)
			resp, err := s.wire.RoundTrip(req)
			must(t, err)
			resp.Body.Close()
			if got := resp.Header.Get("Allow"); resp.StatusCode != 405 || got != want {
				t.Errorf("%s %s: %d, Allow: %s", method, path, resp.StatusCode, got)
			}
		}
	}
}

// TestNoToken: without any token the answer is 401, however often it comes.
func TestNoToken(t *testing.T) {
	s := open(t, nil)
	for range 200 {
		if code, _ := s.do("", "GET", "/v1/me", ""); code != 401 {
			t.Fatal(code)
		}
	}
}
