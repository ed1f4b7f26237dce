const approved = Object.create(null); // patterns that a person has approved for good in opencode's own prompt, by permission
const requests = new Map(); // opencode's own requests that wait, by their IDs
const running = new Map(); // calls that obstat allowed, by their IDs
const agents = new Map(); // the agent that a session runs, whose rules count: build, plan, one of the project's

const runs = (session, name) => {
  if (typeof session === "string" && typeof name === "string" && name) agents.set(session, name);
};

// Notes what a person approves for good. opencode then asks no more, also about calls that obstat would leave to its prompt.
const noted = (event) => {
  const at = event?.properties;
  if (event?.type === "permission.asked") requests.set(at.id, at);
  if (event?.type !== "permission.replied") return;
  const request = requests.get(at.requestID);
  requests.delete(at.requestID);
  if (request && at.reply === "always") (approved[request.permission] ??= []).push(...request.always);
};

export const Obstat = async ({ directory }) => ({
  // A message names its agent, also to the request for a title, which an agent of its own answers.
  "chat.message": async (input, output) => runs(input?.sessionID, output?.message?.agent ?? input?.agent),
  "chat.params": async (input) => runs(input?.sessionID, input?.message?.agent),
  // Tells what became of a call; nobody waits for it.
  event: async ({ event }) => {
    noted(event);
    const part = event?.properties?.part;
    const state = part?.state;
    if (event?.type !== "message.part.updated" || part?.type !== "tool" || !["completed", "error"].includes(state?.status)) return;
    const call = running.get(part.callID);
    if (!running.delete(part.callID)) return;
    void ask(
      JSON.stringify({
        ...call,
        began: undefined,
        hook_event_name: "tool.execute.after",
        output: state.output,
        error: state.error,
        duration_ms: state.time?.end - state.time?.start,
      }),
    );
  },
  // Lets obstat mask the secrets of an output before the model gets it, and tells what became of the call. The output of
  // a server's tool is a list of parts.
  "tool.execute.after": async (input, output) => {
    const call = running.get(input.callID);
    if (!running.delete(input.callID)) return;
    const key = typeof output?.output === "string" ? "output" : "content";
    const after = { ...call, hook_event_name: "tool.execute.after", output: output?.[key], duration_ms: Date.now() - call.began };
    const other = await masked({ ...after, began: undefined });
    if (other !== undefined) output[key] = other;
  },
  "tool.execute.before": async (input, output) => {
    const call = {
      hook_event_name: "tool.execute.before",
      tool: input.tool,
      sessionID: input.sessionID,
      callID: input.callID,
      args: output.args ?? {},
      agent: agents.get(input.sessionID),
      directory,
      approved,
    };
    const answer = await decide(call);
    if (answer.decision !== "allow") throw new Error(answer.reason);
    replace(output.args, answer.args);
    running.set(input.callID, { ...call, args: { ...call.args, ...answer.args }, began: Date.now() });
  },
});
