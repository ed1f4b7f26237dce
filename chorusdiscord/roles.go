package chorusdiscord

import (
	"slices"

	"github.com/bwmarrin/discordgo"

	"github.com/obstat/obstat/dialect/chorus"
)

// Roles returns the roles of a member as Chorus knows them: the names of the
// member's roles, and [chorus.RoleAdministrator] if the member owns the server or
// one of the roles has Discord's Administrator permission. A role that is called
// like that mark is left out.
func Roles(g *discordgo.Guild, m *discordgo.Member) []string {
	if g == nil || m == nil || m.User == nil {
		return nil
	}
	admin := g.OwnerID != "" && g.OwnerID == m.User.ID
	var out []string
	for _, r := range g.Roles {
		has := slices.Contains(m.Roles, r.ID)
		if !has && r.ID != g.ID { // the role with the server's ID is everyone's
			continue
		}
		admin = admin || r.Permissions&discordgo.PermissionAdministrator != 0
		if has && r.Name != chorus.RoleAdministrator {
			out = append(out, r.Name)
		}
	}
	if admin {
		out = append(out, chorus.RoleAdministrator)
	}
	return out
}

// RoleNames returns the names of the server's roles, for Settings.CheckRoles.
func RoleNames(g *discordgo.Guild) []string {
	var out []string
	for _, r := range g.Roles {
		out = append(out, r.Name)
	}
	return out
}
