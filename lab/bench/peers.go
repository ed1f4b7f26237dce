package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"github.com/bmatcuk/doublestar/v4"
	"github.com/casbin/casbin/v3"
	"github.com/casbin/casbin/v3/model"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
)

// opaEngine is one Rego rule a rule, in a prepared query with OPA's value cache
// large enough to hold every pattern.
type opaEngine struct {
	query rego.PreparedEvalQuery
	cache cache.InterQueryValueCache
}

func newOPA(w *workload) (engine, error) {
	var b strings.Builder
	b.WriteString("package t\nimport rego.v1\n")
	for _, v := range []string{"deny", "ask", "allow"} {
		fmt.Fprintf(&b, "default %s := false\n", v)
	}
	for i := range w.rules {
		u := &w.rules[i]
		fmt.Fprintf(&b, "%s if { input.tool == %q; %s }\n", u.verdict, u.tool, opaCondition(u))
	}
	b.WriteString("out := {\"deny\": deny, \"ask\": ask, \"allow\": allow}\n")
	size := int64(200_000)
	conf := &cache.Config{InterQueryBuiltinValueCache: cache.InterQueryBuiltinValueCacheConfig{MaxNumEntries: ptr(int(size))}}
	c := cache.NewInterQueryValueCache(context.Background(), conf)
	q, err := rego.New(rego.Query("data.t.out"), rego.Module("t.rego", b.String()), rego.InterQueryBuiltinValueCache(c)).PrepareForEval(context.Background())
	return &opaEngine{q, c}, err
}

func ptr[T any](v T) *T { return &v }

func opaCondition(u *rule) string {
	switch u.kind {
	case prefix:
		return fmt.Sprintf("startswith(input.%s, %q)", u.field, u.text)
	case glob:
		return fmt.Sprintf("glob.match(%q, [\"/\"], input.%s)", u.text, u.field)
	case regex:
		return fmt.Sprintf("regex.match(`%s`, input.%s)", u.text, u.field)
	}
	return "true"
}

func (e *opaEngine) name() string { return "OPA prepared" }

func (e *opaEngine) decide(c *call) string {
	in := ast.NewObject(ast.Item(ast.StringTerm("tool"), ast.StringTerm(c.tool)), ast.Item(ast.StringTerm(c.field), ast.StringTerm(c.text)))
	rs, err := e.query.Eval(context.Background(), rego.EvalParsedInput(in), rego.EvalInterQueryBuiltinValueCache(e.cache))
	if err != nil || len(rs) == 0 {
		return "fault"
	}
	out := rs[0].Expressions[0].Value.(map[string]any)
	for _, v := range []string{"deny", "ask", "allow"} {
		if out[v] == true {
			return v
		}
	}
	return ""
}

// celEngine runs one compiled program a rule, those of the call's tool only.
type celEngine struct {
	byTool map[string][]celRule
}

type celRule struct {
	prog    cel.Program
	verdict string
}

func newCEL(w *workload) (engine, error) {
	env, err := cel.NewEnv(cel.Variable("text", cel.StringType), cel.Variable("field", cel.StringType), globFunction())
	if err != nil {
		return nil, err
	}
	e := &celEngine{map[string][]celRule{}}
	for i := range w.rules {
		u := &w.rules[i]
		a, iss := env.Compile(celText(u))
		if iss.Err() != nil {
			return nil, iss.Err()
		}
		p, err := env.Program(a, cel.EvalOptions(cel.OptOptimize))
		if err != nil {
			return nil, err
		}
		e.byTool[u.tool] = append(e.byTool[u.tool], celRule{p, u.verdict})
	}
	return e, nil
}

func celText(u *rule) string {
	switch u.kind {
	case prefix:
		return fmt.Sprintf("field == %q && text.startsWith(%q)", u.field, u.text)
	case glob:
		return fmt.Sprintf("field == %q && glob(text, %q)", u.field, u.text)
	case regex:
		return fmt.Sprintf("field == %q && text.matches(r'%s')", u.field, u.text)
	}
	return "true"
}

func (e *celEngine) name() string { return "cel-go by tool" }

func (e *celEngine) decide(c *call) string {
	in := map[string]any{"text": c.text, "field": c.field}
	best := ""
	for _, r := range e.byTool[c.tool] {
		if !stricter(r.verdict, best) {
			continue
		}
		if out, _, err := r.prog.Eval(in); err == nil && out.Value() == true {
			best = r.verdict
		}
	}
	return best
}

// casbinEngine uses casbin's priority effect with a matcher whose regular
// expressions are compiled once.
type casbinEngine struct{ e *casbin.Enforcer }

const casbinModel = `
[request_definition]
r = tool, field, text
[policy_definition]
p = priority, tool, field, kind, text, verdict, eft
[policy_effect]
e = priority(p.eft) || deny
[matchers]
m = r.tool == p.tool && fits(r.field, r.text, p.field, p.kind, p.text)
`

func newCasbin(w *workload) (engine, error) {
	m, err := model.NewModelFromString(casbinModel)
	if err != nil {
		return nil, err
	}
	e, err := casbin.NewEnforcer(m)
	if err != nil {
		return nil, err
	}
	res := map[string]*regexp.Regexp{}
	for i := range w.rules {
		if u := &w.rules[i]; u.kind == regex {
			res[u.text] = regexp.MustCompile(u.text)
		}
	}
	e.AddFunction("fits", func(args ...any) (any, error) {
		return casbinFits(res, args[0].(string), args[1].(string), args[2].(string), args[3].(string), args[4].(string)), nil
	})
	var policies [][]string
	for v, eft := range []string{"deny", "deny", "allow"} {
		for i := range w.rules {
			u := &w.rules[i]
			if strictness[u.verdict] == v {
				policies = append(policies, []string{fmt.Sprint(v), u.tool, u.field, fmt.Sprint(int(u.kind)), u.text, u.verdict, eft})
			}
		}
	}
	_, err = e.AddPolicies(policies)
	return &casbinEngine{e}, err
}

func casbinFits(res map[string]*regexp.Regexp, rfield, rtext, pfield, pkind, ptext string) bool {
	if pkind == "0" {
		return true
	}
	if rfield != pfield {
		return false
	}
	switch pkind {
	case "1":
		return strings.HasPrefix(rtext, ptext)
	case "2":
		return doublestar.MatchUnvalidated(ptext, rtext)
	}
	return res[ptext].MatchString(rtext)
}

func (e *casbinEngine) name() string { return "casbin" }

func (e *casbinEngine) decide(c *call) string {
	_, explain, err := e.e.EnforceEx(c.tool, c.field, c.text)
	if err != nil {
		return "fault"
	}
	if len(explain) < 6 {
		return ""
	}
	return explain[5]
}
