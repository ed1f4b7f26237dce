// Package chorusdiscord puts Chorus's confirmations where its people are: a
// message in the Discord channel of the session, answered with a reaction or a
// reply.
//
// It owns the [Channel] on a discordgo session and the meaning of a member's roles to
// Chorus ([Roles]). Who may answer, how long a question waits and what an answer
// leads to is package host/chorus's business.
package chorusdiscord
