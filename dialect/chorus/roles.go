package chorus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
)

// RoleAdministrator stands among a call's roles for the permission of Discord
// that is called Administrator. It is no role's name: a host must not hand on a
// role that is called so.
const RoleAdministrator = "discord:permission:administrator"

// checkRoles is the name of the role check in Programs.
const checkRoles = "chorus.roles"

// A roleCheck is the document's second gate for changes of an agent's profile:
// the user of the session must have a role that grants it. The host names user and roles
// (Call.User, Call.Roles); the arguments say nothing about them.
type roleCheck struct{ *params }

// Check passes every call but a change of the profile that the user may not
// make.
func (c roleCheck) Check(f *obstat.Facts) obstat.Finding {
	if f.Settled != nil && f.Settled.Verdict == obstat.Deny {
		return obstat.Finding{Pass: true}
	}
	targets, err := grants(f)
	if err != nil {
		return obstat.Finding{Verdict: obstat.Deny, Note: err.Error()}
	}
	for _, profile := range targets {
		if why := c.refuses(f.Call, profile); why != "" {
			return obstat.Finding{Verdict: obstat.Deny, Note: why}
		}
	}
	return obstat.Finding{Pass: true}
}

// grants returns the profiles that the call would give the agent. An action
// string without a user is a question about patterns, as the document's engine
// answers it, and not a call.
func grants(f *obstat.Facts) ([]string, error) {
	call := f.Call
	if len(call.Subjects) > 0 {
		var out []string
		if call.User == "" && len(call.Roles) == 0 {
			return nil, nil
		}
		for _, s := range call.Subjects {
			if profile, ok := strings.CutPrefix(s, grantPrefix); ok {
				out = append(out, profile)
			}
		}
		return out, nil
	}
	if call.Tool != toolGrant {
		return nil, nil
	}
	input, err := kit.Arguments(f)
	if err != nil {
		return nil, err
	}
	for _, m := range input.Members {
		if m.Key != "profile" {
			return nil, fmt.Errorf("%s takes nothing but a profile, and the call has %s: who asks is not for the arguments to say", toolGrant, m.Key)
		}
	}
	act := actions()[toolGrant]
	profile, err := act.args[0].value(toolGrant, input)
	return []string{profile}, err
}

// refuses says why the user may not grant the profile, "" if they may.
func (c roleCheck) refuses(call *obstat.Call, profile string) string {
	if !slices.Contains(c.Profiles, profile) {
		return fmt.Sprintf("Unknown permission preset: '%s'. Available: %s", profile, strings.Join(c.Profiles, ", "))
	}
	if c.Grants == nil {
		if slices.Contains(call.Roles, RoleAdministrator) {
			return ""
		}
		return fmt.Sprintf("insufficient role: only server administrators can change an agent's profile, since no permission_grants are configured; %s is none", who(call))
	}
	var granting []string
	for _, role := range slices.Sorted(maps.Keys(c.Grants)) {
		if !slices.Contains(c.Grants[role], profile) {
			continue
		}
		if slices.Contains(call.Roles, role) {
			return ""
		}
		granting = append(granting, role)
	}
	if len(granting) == 0 {
		return fmt.Sprintf("insufficient role: no role may grant the profile '%s'", profile)
	}
	return fmt.Sprintf("insufficient role: to grant the profile '%s' takes the role %s; %s has %s", profile,
		strings.Join(granting, " or "), who(call), roleNames(call.Roles))
}

func who(call *obstat.Call) string {
	if call.User == "" {
		return "whoever started this (the host names no user)"
	}
	return "user " + call.User
}

func roleNames(roles []string) string {
	var out []string
	for _, r := range roles {
		if r == RoleAdministrator {
			r = "the Administrator permission"
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return "no role"
	}
	return strings.Join(out, ", ")
}
