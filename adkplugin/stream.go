package adkplugin

import (
	"errors"
	"iter"

	"google.golang.org/genai"

	"google.golang.org/adk/model"
	"google.golang.org/adk/tool"
)

// A streamer is a streaming tool of ADK.
type streamer interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	RunStream(ctx tool.Context, args any) iter.Seq2[string, error]
}

// A requester is a tool that writes itself into the model's request.
type requester interface {
	ProcessRequest(ctx tool.Context, req *model.LLMRequest) error
}

// stream is a streaming tool behind a guard. It cannot ask: ADK would come back
// to the tool, not to us.
type stream struct {
	streamer
	gate *gate
}

// Wrap returns t behind the guard if it is a streaming tool, and t itself if it
// is not. In a live session ADK takes streaming tools straight from the agent:
// wrap them there. Elsewhere the plugin does it.
func Wrap(guard Guard, t tool.Tool) tool.Tool {
	s, ok := t.(streamer)
	if !ok {
		return t
	}
	return &stream{s, &gate{guard: guard}}
}

// ProcessRequest packs the tool as it is, then puts the guarded one in its place.
func (s *stream) ProcessRequest(ctx tool.Context, req *model.LLMRequest) error {
	r, ok := s.streamer.(requester)
	if !ok {
		return pack(req, s, s.Declaration())
	}
	if err := r.ProcessRequest(ctx, req); err != nil {
		return err
	}
	if _, ok := req.Tools[s.Name()]; ok {
		req.Tools[s.Name()] = s
	}
	return nil
}

// RunStream asks the guard, then runs the tool. Where that would take a human,
// the tool does not run.
func (s *stream) RunStream(ctx tool.Context, args any) iter.Seq2[string, error] {
	refuse := func(why string) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) { yield("", errors.New(why)) }
	}
	given, ok := args.(map[string]any)
	if !ok {
		return refuse("the arguments of " + s.Name() + " are no object")
	}
	silent := *s.gate
	silent.silent = true
	result, _ := silent.beforeTool(ctx, s.streamer, given)
	if result != nil {
		why, _ := result["error"].(string)
		return refuse(why)
	}
	return s.streamer.RunStream(ctx, given)
}

// pack writes a tool into the model's request.
func pack(req *model.LLMRequest, t tool.Tool, decl *genai.FunctionDeclaration) error {
	if req.Tools == nil {
		req.Tools = map[string]any{}
	}
	if _, ok := req.Tools[t.Name()]; ok {
		return errors.New("two tools are called " + t.Name())
	}
	req.Tools[t.Name()] = t
	if decl == nil {
		return nil
	}
	if req.Config == nil {
		req.Config = &genai.GenerateContentConfig{}
	}
	for _, have := range req.Config.Tools {
		if have != nil && have.FunctionDeclarations != nil {
			have.FunctionDeclarations = append(have.FunctionDeclarations, decl)
			return nil
		}
	}
	req.Config.Tools = append(req.Config.Tools, &genai.Tool{FunctionDeclarations: []*genai.FunctionDeclaration{decl}})
	return nil
}
