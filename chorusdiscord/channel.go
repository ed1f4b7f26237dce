package chorusdiscord

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bwmarrin/discordgo"

	"github.com/obstat/obstat/host/chorus"
)

// Intents are for the session to ask Discord for: reactions, and messages
// with their text, for replies.
const Intents = discordgo.IntentsGuildMessages | discordgo.IntentsGuildMessageReactions | discordgo.IntentMessageContent

// The reactions.
const (
	checkmark = "✅"
	cross     = "❌"
)

const (
	maxContent = 2000 // characters that Discord takes in a message
	maxQueue   = 256  // replies to one question that wait to be looked at
	maxEarly   = 256  // replies kept while a message's ID is not known yet
	maxTurned  = 3    // people per question that are told that they cannot answer
)

// A Channel asks in Discord. Make one with New.
type Channel struct {
	s      *discordgo.Session
	remove []func()

	mu      sync.Mutex
	open    map[string]*conversation // by message
	posting int                      // messages on their way
	early   []reply                  // replies that came before their message's ID
}

var _ chorus.Channel = (*Channel)(nil)

// New returns a Channel on a session, which must have been opened with Intents.
// Close takes its handlers off again.
func New(s *discordgo.Session) (*Channel, error) {
	if s == nil {
		return nil, errors.New("chorusdiscord: no session")
	}
	c := &Channel{s: s, open: map[string]*conversation{}}
	c.remove = []func(){s.AddHandler(c.onReaction), s.AddHandler(c.onMessage)}
	return c, nil
}

// Close takes the handlers off. Questions that are open run out of time.
func (c *Channel) Close() {
	for _, remove := range c.remove {
		remove()
	}
}

// A reply is a reaction to a message, or an answer.
type reply struct {
	message, channel, guild string
	member                  *discordgo.Member
	approve                 bool
	text                    string
	emoji                   string
}

// A conversation is a message that waits for an answer.
type conversation struct {
	c       *Channel
	q       *chorus.Question
	message string
	replies chan reply
	turned  map[string]bool
	guild   *discordgo.Guild // the server, once it was looked up
}

// Ask posts the question with the two reactions on it.
func (c *Channel) Ask(ctx context.Context, q *chorus.Question) (chorus.Conversation, error) {
	if q.Channel == "" {
		return nil, errors.New("the call does not say in which Discord channel its session runs")
	}
	c.mu.Lock()
	c.posting++
	c.mu.Unlock()
	msg, err := c.s.ChannelMessageSendComplex(q.Channel, message(q), discordgo.WithContext(ctx))
	conv := &conversation{c: c, q: q, replies: make(chan reply, maxQueue), turned: map[string]bool{}}
	if err == nil && msg != nil {
		conv.message = msg.ID
	}
	c.posted(conv)
	if err != nil {
		return nil, fmt.Errorf("the question could not be posted: %w", err)
	}
	for _, emoji := range []string{checkmark, cross} {
		if err := c.s.MessageReactionAdd(q.Channel, conv.message, emoji, discordgo.WithContext(ctx)); err != nil {
			c.forget(conv.message)
			return nil, fmt.Errorf("the reactions could not be put under the question: %w", err)
		}
	}
	return conv, nil
}

// posted takes note of a message and hands it the replies that were faster.
func (c *Channel) posted(conv *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posting--
	if conv.message != "" {
		c.open[conv.message] = conv
		for _, r := range c.early {
			if r.message == conv.message {
				conv.offer(r)
			}
		}
	}
	if c.posting == 0 {
		c.early = nil
	}
}

func (c *Channel) forget(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, message)
}

// message is the document's prompt in a block that Discord shows as it is: no
// markup, no mentions, nothing hidden. A text too long for a message comes
// whole as a file.
func message(q *chorus.Question) *discordgo.MessageSend {
	text := strings.ReplaceAll(q.Text(), "```", "`\u200b`\u200b`")
	send := &discordgo.MessageSend{AllowedMentions: noMentions()}
	if runes := []rune(text); len(runes) > maxContent-10 {
		send.Files = []*discordgo.File{{Name: "action.txt", ContentType: "text/plain; charset=utf-8",
			Reader: strings.NewReader(q.Text())}}
		const tail = "\n[...]\nThis is not all of it: read the file before you answer.\n\nReact with checkmark to approve " +
			"or X to deny."
		text = string(runes[:maxContent-10-len(tail)]) + tail
	}
	send.Content = "```\n" + text + "\n```"
	return send
}

// noMentions keeps a message from calling anybody. The list has to be there: its
// absence means everybody.
func noMentions() *discordgo.MessageAllowedMentions {
	return &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
}

// onReaction takes a reaction.
func (c *Channel) onReaction(s *discordgo.Session, e *discordgo.MessageReactionAdd) {
	if e.MessageReaction == nil || e.Emoji.Name != checkmark && e.Emoji.Name != cross {
		return
	}
	m := e.Member
	if m == nil {
		m = &discordgo.Member{}
	}
	if m.User == nil {
		m.User = &discordgo.User{ID: e.UserID}
	}
	if m.User.ID != e.UserID {
		return
	}
	c.route(s, reply{message: e.MessageID, channel: e.ChannelID, guild: e.GuildID, member: m,
		approve: e.Emoji.Name == checkmark, emoji: e.Emoji.Name})
}

// onMessage takes a reply to a question, if it is a word for yes or no.
func (c *Channel) onMessage(s *discordgo.Session, e *discordgo.MessageCreate) {
	if e.Message == nil || e.MessageReference == nil || e.Author == nil {
		return
	}
	approve, known := meaning(e.Content)
	if !known {
		return
	}
	m := &discordgo.Member{}
	if e.Member != nil {
		*m = *e.Member
	}
	m.User = e.Author
	c.route(s, reply{message: e.MessageReference.MessageID, channel: e.ChannelID, guild: e.GuildID, member: m,
		approve: approve, text: e.Content})
}

// meaning reads a reply's text.
func meaning(text string) (approve, known bool) {
	switch strings.Trim(strings.ToLower(strings.TrimSpace(text)), ".! ") {
	case "yes", "y", "approve", "approved", "allow", checkmark:
		return true, true
	case "no", "n", "deny", "denied", "x", "stop", cross:
		return false, true
	}
	return false, false
}

// route gives a reply to its question. Bots, this one among them, have no say.
func (c *Channel) route(s *discordgo.Session, r reply) {
	if r.member.User.Bot || s.State != nil && s.State.User != nil && r.member.User.ID == s.State.User.ID {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if conv := c.open[r.message]; conv != nil {
		conv.offer(r)
	} else if c.posting > 0 && len(c.early) < maxEarly {
		c.early = append(c.early, r)
	}
}

// offer queues a reply; where hundreds wait, further ones are lost, and a
// question without a possible answer is denied.
func (conv *conversation) offer(r reply) {
	if r.channel != conv.q.Channel {
		return
	}
	select {
	case conv.replies <- r:
	default:
	}
}

// Next waits for a reply and looks up the roles of its author.
func (conv *conversation) Next(ctx context.Context) (chorus.Reply, error) {
	select {
	case <-ctx.Done():
		return chorus.Reply{}, context.Cause(ctx)
	case r := <-conv.replies:
		roles, err := conv.roles(ctx, &r)
		if err != nil {
			return chorus.Reply{}, err
		}
		return chorus.Reply{User: r.member.User.ID, Roles: roles, Approve: r.approve, Text: r.text}, nil
	}
}

// roles asks Discord, once per question, for the server's roles; those of its
// author come with every reply.
func (conv *conversation) roles(ctx context.Context, r *reply) ([]string, error) {
	if r.guild == "" {
		return nil, nil // a direct message: there are no roles
	}
	if conv.guild == nil || conv.guild.ID != r.guild {
		g, err := conv.c.s.Guild(r.guild, discordgo.WithContext(ctx))
		if err != nil {
			return nil, fmt.Errorf("the server's roles could not be looked up: %w", err)
		}
		conv.guild = g
	}
	return Roles(conv.guild, r.member), nil
}

// Turn tells the first few people without the right to answer so, each once.
func (conv *conversation) Turn(ctx context.Context, r *chorus.Reply, why string) {
	if conv.turned[r.User] || len(conv.turned) >= maxTurned {
		return
	}
	conv.turned[r.User] = true
	_, _ = conv.c.s.ChannelMessageSendComplex(conv.q.Channel, &discordgo.MessageSend{
		Content:         fmt.Sprintf("<@%s> %s.", r.User, why),
		Reference:       &discordgo.MessageReference{MessageID: conv.message, ChannelID: conv.q.Channel},
		AllowedMentions: noMentions(),
	}, discordgo.WithContext(ctx))
}

// Close says under the question how it ended.
func (conv *conversation) Close(ctx context.Context, a chorus.Answer) error {
	conv.c.forget(conv.message)
	end := "Denied: " + a.Detail
	switch {
	case a.Approved:
		end = fmt.Sprintf("Approved by <@%s>.", a.By)
	case a.By != "":
		end = fmt.Sprintf("Denied by <@%s>.", a.By)
	}
	_, err := conv.c.s.ChannelMessageSendComplex(conv.q.Channel, &discordgo.MessageSend{
		Content:         end,
		Reference:       &discordgo.MessageReference{MessageID: conv.message, ChannelID: conv.q.Channel},
		AllowedMentions: noMentions(),
	}, discordgo.WithContext(ctx))
	return err
}
