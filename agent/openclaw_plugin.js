export default {
  id: "obstat",
  name: "obstat",
  register(api) {
    const about = (name, event, ctx) => ({
      hook_event_name: name,
      tool: event.toolName,
      input: event.params ?? {},
      call: event.toolCallId,
      session: ctx?.sessionId ?? ctx?.sessionKey,
      cwd: ctx?.workspaceDir ?? process.cwd(),
    });
    // The lowest priority comes last, and sees the arguments that other plugins have changed.
    const last = { priority: -1000, timeoutMs: limit };
    api.on(
      "before_tool_call",
      async (event, ctx) => {
        const answer = await decide(about("before_tool_call", event, ctx));
        if (answer.decision !== "allow") return { block: true, blockReason: answer.reason };
        if (answer.args) return { params: answer.args };
      },
      last,
    );
    api.on("after_tool_call", (event, ctx) => {
      void masked({
        ...about("after_tool_call", event, ctx),
        output: event.result,
        error: event.error,
        duration_ms: event.durationMs,
      });
    });
  },
};
