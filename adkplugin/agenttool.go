package adkplugin

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/artifact"
	"google.golang.org/adk/memory"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
)

// NewAgentTool returns a tool that runs an agent, as ADK's agenttool does, with
// the guard before every tool call of that agent as well. ADK's own runs its
// agent without plugins, and is refused by this one. Inside, there is
// no person to ask: an ask is a denial.
func (o Options) NewAgentTool(guard Guard, a agent.Agent) (tool.Tool, error) {
	if guard == nil || a == nil {
		return nil, errors.New("adkplugin: an agent tool takes a guard and an agent")
	}
	return &agentTool{agent: a, gate: &gate{guard: guard, opts: o, silent: true}}, nil
}

// NewAgentTool returns a guarded agent tool with default options.
func NewAgentTool(guard Guard, a agent.Agent) (tool.Tool, error) {
	return Options{}.NewAgentTool(guard, a)
}

type agentTool struct {
	agent agent.Agent
	gate  *gate
}

// Name returns the agent's name.
func (t *agentTool) Name() string { return t.agent.Name() }

// Description returns the agent's description.
func (t *agentTool) Description() string { return t.agent.Description() }

// IsLongRunning returns false.
func (t *agentTool) IsLongRunning() bool { return false }

// Declaration says that the tool takes a request in words.
func (t *agentTool) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: t.Name(), Description: t.Description(), Parameters: &genai.Schema{
		Type: "OBJECT", Properties: map[string]*genai.Schema{"request": {Type: "STRING"}}, Required: []string{"request"}}}
}

// ProcessRequest writes the tool into the model's request.
func (t *agentTool) ProcessRequest(_ tool.Context, req *model.LLMRequest) error {
	return pack(req, t, t.Declaration())
}

// Run runs the agent on the request and returns its last words.
func (t *agentTool) Run(ctx tool.Context, args any) (map[string]any, error) {
	given, _ := args.(map[string]any)
	request, ok := given["request"].(string)
	if !ok {
		return nil, fmt.Errorf("agent %s takes a request, a text", t.Name())
	}
	r, sess, err := t.runner(ctx)
	if err != nil {
		return nil, err
	}
	var last *genai.Content
	content := genai.NewContentFromText(request, genai.RoleUser)
	for event, err := range r.Run(ctx, sess.UserID(), sess.ID(), content, agent.RunConfig{}) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("agent %s: %w", t.Name(), err)
		case event.ErrorCode != "" || event.ErrorMessage != "":
			return nil, fmt.Errorf("agent %s: %s %s", t.Name(), event.ErrorCode, event.ErrorMessage)
		case event.LLMResponse.Content != nil:
			last = event.LLMResponse.Content
		}
	}
	return map[string]any{"result": words(last)}, nil
}

// runner makes the agent's own runner, guarded, and a session with the caller's
// state.
func (t *agentTool) runner(ctx tool.Context) (*runner.Runner, session.Session, error) {
	p, err := plugin.New(plugin.Config{Name: "obstat", BeforeToolCallback: t.gate.beforeTool,
		BeforeModelCallback: t.gate.beforeModel})
	if err != nil {
		return nil, nil, err
	}
	service := session.InMemoryService()
	r, err := runner.New(runner.Config{AppName: ctx.AppName(), Agent: t.agent, SessionService: service,
		ArtifactService: artifact.InMemoryService(),
		MemoryService:   memory.InMemoryService(), PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{p}}})
	if err != nil {
		return nil, nil, err
	}
	state := map[string]any{}
	for k, v := range ctx.State().All() {
		if !strings.HasPrefix(k, "_adk") && !strings.HasPrefix(k, pendingKey) {
			state[k] = v
		}
	}
	created, err := service.Create(ctx, &session.CreateRequest{AppName: ctx.AppName(), UserID: ctx.UserID(), State: state})
	if err != nil {
		return nil, nil, err
	}
	return r, created.Session, nil
}

func words(c *genai.Content) string {
	if c == nil {
		return ""
	}
	var out []string
	for _, p := range c.Parts {
		if p != nil && p.Text != "" {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}
