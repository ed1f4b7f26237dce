export const description = "Asks obstat before every tool call";

export default function (amp) {
  const about = (name, event) => ({
    hook_event_name: name,
    tool: event.tool,
    input: event.input ?? {},
    call: event.toolUseID,
    session: event.thread?.id,
    cwd: process.cwd(),
  });
  amp.on("tool.call", async (event) => {
    const answer = await decide(about("tool.call", event));
    if (answer.decision !== "allow") return { action: "reject-and-continue", message: answer.reason };
    return answer.args ? { action: "modify", input: answer.args } : { action: "allow" };
  });
  amp.on("tool.result", async (event) => {
    if (event.status === "cancelled") return;
    const output = await masked({ ...about("tool.result", event), output: event.output, error: event.error });
    if (output !== undefined) return { status: event.status, error: event.error, output };
  });
}
