package server

import (
	"math"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/host/opencode"
	"github.com/obstat/obstat/ledger"
)

// The document's bounds beyond the types: a request that fits the document is not refused for its shape. Bounds in
// bytes stand as words, since a schema counts characters.

// filled describes an object with texts that are not empty.
func filled(names ...string) object {
	props := object{}
	for _, name := range names {
		props[name] = object{"type": "string", "minLength": 1}
	}
	return object{"type": "object", "required": names, "properties": props}
}

// withID describes a resource of AuthZEN, whose identifier may be empty.
func withID() object {
	out := filled("type")
	out["required"] = []string{"type", "id"}
	out["properties"].(object)["id"] = object{"type": "string"}
	return out
}

// evaluable are the members that make an evaluation.
func evaluable() object {
	return object{"type": "object", "required": []string{"subject", "action", "resource"},
		"properties": object{"subject": filled("type", "id"), "action": filled("name"), "resource": withID()}}
}

// bodies bound whole bodies, by path.
func bodies() object {
	list := func(least, most int) object {
		return object{"type": "array", "items": object{}, "minItems": least, "maxItems": most}
	}
	orNull := func(schema object) object {
		schema["nullable"] = true
		return schema
	}
	named := func(kind string, other object) object {
		other["kind"] = object{"type": "string", "enum": []string{kind}}
		return object{"type": "object", "properties": other}
	}
	vouches := func(yes bool) object { return object{"type": "boolean", "enum": []bool{yes}} }
	empty := func() object { return orNull(object{"type": "string", "maxLength": 0}) }
	search := func(what string) object {
		out := evaluable()
		props := out["properties"].(object)
		switch what {
		case "action":
			out["required"] = []string{"subject", "resource"}
			delete(props, what)
		default:
			props[what] = filled("type")
		}
		return out
	}
	return object{
		"/v1/decisions": object{"oneOf": []object{
			{"type": "object", "required": []string{"call"}, "properties": object{"call": object{"type": "object"},
				"calls": orNull(list(0, 0))}},
			{"type": "object", "required": []string{"calls"}, "properties": object{"calls": list(1, maxCalls),
				"call": object{"enum": []any{nil}, "nullable": true}}}}},
		"/v1/tokens": object{"oneOf": []object{
			named("agent", object{"roles": orNull(list(0, 0)), "vouches": vouches(false)}),
			object{"allOf": []object{{"required": []string{"agent", "vouches"}},
				named("agent", object{"roles": orNull(list(0, 0)), "vouches": vouches(true),
					"agent": object{"type": "string", "enum": []string{client.AnyAgent}}})}},
			named("person", object{"agent": empty(), "workspace": empty(), "dialect": empty(), "user": empty(),
				"vouches": vouches(false)})}},
		"/access/v1/evaluation": evaluable(),
		"/access/v1/evaluations": object{"anyOf": []object{evaluable(),
			{"type": "object", "required": []string{"evaluations"}, "properties": object{"evaluations": list(1, maxCalls)}}}},
		"/access/v1/search/subject":  search("subject"),
		"/access/v1/search/resource": search("resource"),
		"/access/v1/search/action":   search("action"),
	}
}

// atMost words a bound in bytes.
func atMost(bytes string) object { return object{"description": "at most " + bytes + " bytes"} }

// memberBounds bound members of bodies, by type and name.
func memberBounds() map[string]object {
	notEmpty := object{"minLength": 1, "description": "at most 256 bytes"}
	reply := object{"enum": []opencode.Reply{opencode.Once, opencode.Always, opencode.Reject}}
	out := map[string]object{
		"ObstatCall.tool":         notEmpty,
		"DecisionRequest.wait":    {"maximum": maxWait},
		"DecisionRequest.lease":   {"maximum": maxLease},
		"DecisionRequest.key":     atMost("256"),
		"Claim.lease":             {"maximum": maxLease},
		"TokenRequest.name":       notEmpty,
		"TokenRequest.days":       {"maximum": maxDays},
		"GroupAnswer.ids":         {"minItems": 1, "maxItems": maxGroup},
		"Proofs.proofs":           {"maxItems": maxList},
		"Proof.agent":             notEmpty,
		"Proof.state":             {"enum": []string{"holds", "broken", "open"}},
		"Activation.reason":       atMost("2000"),
		"Answer.words":            atMost("4000"),
		"PolicyUpload.note":       atMost("4000"),
		"Claim.key":               atMost("256"),
		"Outcome.key":             atMost("256"),
		"PolicyUpload.files":      {"minItems": 1},
		"ServerReply.reply":       reply,
		"ServerReply.message":     {"nullable": false},
		"ServerResponse.response": reply,
		// An item in error is denied, and the others are answered.
		"ServerEvaluations.evaluations": {"maxItems": maxCalls, "items": object{"nullable": true,
			"allOf": []object{{"$ref": "#/components/schemas/ServerEvaluation"}}}},
		"ServerOptions.evaluations_semantic": {"enum": append([]string{""}, semantics...)},
		"Answer.scope":                       {"enum": scopes},
	}
	for _, name := range []string{"mode", "agent", "session", "user", "channel", "branch", "hint"} {
		out["ObstatCall."+name] = atMost("256")
	}
	for _, name := range []string{"dir", "project"} {
		out["ObstatCall."+name] = atMost("4096")
	}
	return out
}

// parameters describe parameters of queries by path and name, or by name; others are texts. An empty one counts as
// missing.
func parameters() map[string]object {
	whole := func(least, most int64) object { return object{"type": "integer", "minimum": least, "maximum": most} }
	moment := object{"type": "string", "format": "date-time"}
	return map[string]object{
		"/v1/requests limit": whole(1, 1000), "limit": whole(0, 1<<30), "after": whole(0, math.MaxInt64),
		"wait": whole(0, maxWait), "buckets": whole(0, 1000), "since": moment, "until": moment,
		"follow": {"type": "boolean"}, "format": {"type": "string", "enum": []string{"jsonl", "ocsf"}},
		"state": {"type": "string", "enum": states}, "kind": {"type": "string", "enum": kinds},
		"person": {"type": "string", "minLength": 1}, "version": whole(0, math.MaxInt),
	}
}

// required are the parameters of queries that have to be there.
var required = []string{"person"}

// states are the states of a request, and kinds the kinds of a record.
var (
	states = []approval.State{approval.Pending, approval.Approved, approval.Refused, approval.Expired, approval.Canceled,
		approval.Claimed, approval.Done, approval.Lapsed}
	kinds = []ledger.Kind{ledger.Start, ledger.Decision, ledger.Ask, ledger.Answer, ledger.Grant, ledger.Policy,
		ledger.Cut, ledger.Pin, ledger.Access, ledger.Outcome, ledger.Damage, ledger.Undo, ledger.Anchor}
	scopes = []approval.Scope{"", approval.Once, approval.Session, approval.Agent, approval.Workspace, approval.User,
		approval.Always}
	semantics = []string{"execute_all", "deny_on_first_deny", "permit_on_first_permit"}
)
