export default function (pi) {
  const about = (event, ctx) => ({
    hook_event_name: event.type,
    tool: event.toolName,
    input: event.input ?? {},
    call: event.toolCallId,
    session: ctx?.sessionManager?.getSessionId?.(),
    cwd: ctx?.cwd ?? process.cwd(),
  });
  pi.on("tool_call", async (event, ctx) => {
    const answer = await decide(about(event, ctx));
    if (answer.decision !== "allow") return { block: true, reason: answer.reason };
    replace(event.input, answer.args);
  });
  pi.on("tool_result", async (event, ctx) => {
    const error = event.isError ? "the call failed" : undefined;
    const content = await masked({ ...about(event, ctx), output: event.content, error });
    if (content !== undefined) return { content };
  });
}
