package mcp

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/display"
)

// A Guard stands in front of one server: it says how the server's calls are put to a
// gate. It is shared by all sessions with that server.
type Guard struct {
	Name string // of the server, as rules have it
	// Gate decides. Elicits decides for clients that can show a form to a person, so
	// that a request may be put although nobody runs `obstat ask`; nil is Gate.
	Gate, Elicits *gate.Gate
	// Store opens the requests that people answer; nil: calls that ask are answered
	// through the gate alone.
	Store func(ctx context.Context) (approval.Store, error)
	// Agent makes the calls, "claude-code"; "" is told by what the client says of itself.
	Agent string
	User  string
	Dir   string // where the calls are made
	// Session is the agent's; "" is one for each connection.
	Session string
	// Hold is how long a call is kept waiting for a person where the client shows no
	// form; zero is 50 seconds.
	Hold time.Duration
	// Quickest is the least time that a person takes for a form: one that is declined sooner was
	// declined by a program that nobody sits at, as `codex exec` does. Zero is a second.
	Quickest time.Duration
	// Piped: the client is at the other end of this process's input. When that ends it does not come back, and
	// its requests are withdrawn.
	Piped bool
	// Attended tells whether somebody answers requests elsewhere; nil: nobody does.
	Attended func() bool
	// Durable waits until everything that the gate has decided is on the disk; it is
	// called before a result goes to a client that may outlive this machine. nil: it is
	// when the gate returns.
	Durable func() error
	// Pins keep what was accepted of the server's tools; nil: nothing is kept. Accepting
	// says how a person accepts changed ones; "" is `obstat mcp tools`.
	Pins      Pins
	Accepting string
	// Key seals the state that clients carry; it is the installation's. nil: no state is
	// given out, and none is taken.
	Key []byte
	// Log takes words for people; nil: none.
	Log io.Writer
	// Ended is told of each allowed call that the server has answered, before the client is; nil: not called.
	Ended func(c *obstat.Call)
	// NoMask lets the model see the secrets of a server's results.
	NoMask bool

	bare   bool // lists are left as the server sends them, to be looked at
	relays bool // calls pass: what stands behind decides
}

// defaultHold is less than the minute after which most clients give a call up.
const defaultHold = 50 * time.Second

// quickest is less than anybody needs to read a question and to refuse it.
const quickest = time.Second

// CheckName returns an error for a name that no server may have: rules cut
// `mcp__NAME__TOOL` at the second `__`.
func CheckName(name string) error {
	if ok, _ := regexp.MatchString(`^[A-Za-z0-9._-]{1,64}$`, name); !ok || strings.Contains(name, "__") ||
		strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_") {
		return fmt.Errorf("%q is no name for a server: it takes up to 64 letters, digits, `.`, `-` and single `_` inside",
			name)
	}
	return nil
}

// Tool returns the name that rules have for a server's tool.
func Tool(server, tool string) string { return "mcp__" + server + "__" + tool }

// visible returns a text of others for a terminal, its beginning where it is long.
func visible(s string) string {
	if len(s) > 4000 {
		s = strings.ToValidUTF8(s[:4000], "") + "…"
	}
	return display.Visible(s)
}

// agent returns the agent that makes the calls of a client, "" if its client's name does not tell.
func (g *Guard) agent(m *meta) string { return cmp.Or(g.Agent, agent.OfClient(m.client)) }
