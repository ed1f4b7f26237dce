// Written by `obstat install opencode`: asks obstat before every tool call.
// One obstat runs as long as opencode does and answers call by call. A call runs
// only if its answer has code 0 and says allow; everything else, a missing
// program included, throws, and opencode then does not run the call.
import { spawn } from "node:child_process";

const command = ["obstat", "hook", "opencode"];
const limit = 600000; // milliseconds; opencode itself waits for ever

const missing = `${command[0]} is not there: install obstat, as https://github.com/obstat/obstat says; until then every call is denied`;

let obstat; // the process that runs, or undefined
let last = 0;

const start = () => {
  const run = spawn(command[0], [...command.slice(1), "--serve"]);
  const asked = new Map();
  let stdout = "";
  let stderr = "";
  const end = (why) => {
    if (obstat === self) obstat = undefined; // the next call starts another
    for (const answer of asked.values()) answer({ status: -1, text: stderr.trim() || why });
    asked.clear();
  };
  const self = { run, asked, end };
  run.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
    for (let at; (at = stdout.indexOf("\n")) >= 0; stdout = stdout.slice(at + 1)) {
      const [, id, status, said] = /^(\d+) (\d+) ?([^]*)$/.exec(stdout.slice(0, at)) ?? [];
      asked.get(id)?.({ status: Number(status), text: said });
      asked.delete(id);
    }
  });
  run.stderr.setEncoding("utf8").on("data", (text) => (stderr = (stderr + text).slice(-4096)));
  run.on("error", (error) => end(error.code === "ENOENT" ? missing : String(error)));
  run.on("close", () => end(""));
  run.stdin.on("error", () => {});
  for (const part of [run, run.stdin, run.stdout, run.stderr]) part.unref?.();
  return self;
};

const ask = (payload) =>
  new Promise((resolve) => {
    const to = (obstat ??= start());
    const id = String(++last);
    const timer = setTimeout(() => {
      to.run.kill("SIGKILL");
      to.end("");
    }, limit);
    to.asked.set(id, (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    to.run.stdin.write(`${id} ${payload}\n`);
  });

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
    const said = await ask(JSON.stringify({ ...after, began: undefined }));
    try {
      const masked = JSON.parse(said.text).output;
      if (masked !== undefined) output[key] = masked;
    } catch {
      // There is nothing to mask.
    }
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
    const said = await ask(JSON.stringify(call));
    let answer;
    try {
      answer = JSON.parse(said.text);
    } catch {
      answer = undefined;
    }
    if (said.status !== 0 || answer?.decision !== "allow") {
      throw new Error(answer?.reason || said.text || "obstat did not answer, so the call is denied");
    }
    if (answer.args) {
      // Only changes in place count.
      for (const key of Object.keys(output.args)) delete output.args[key];
      Object.assign(output.args, answer.args);
    }
    running.set(input.callID, { ...call, args: { ...call.args, ...answer.args }, began: Date.now() });
  },
});
