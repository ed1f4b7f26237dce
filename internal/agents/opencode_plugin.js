// Written by `obstat install opencode`: asks obstat before every tool call.
// A call runs only if obstat ends with code 0 and says allow; everything else,
// a missing program included, throws, and opencode then does not run the call.
import { spawnSync } from "node:child_process";

const program = "obstat";

export const Obstat = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const payload = JSON.stringify({
      hook_event_name: "tool.execute.before",
      tool: input.tool,
      sessionID: input.sessionID,
      callID: input.callID,
      args: output.args ?? {},
      directory,
    });
    const run = spawnSync(program, ["hook", "opencode"], { input: payload, encoding: "utf8", timeout: 60000 });
    let answer;
    try {
      answer = JSON.parse(run.stdout);
    } catch {
      answer = undefined;
    }
    if (run.status !== 0 || answer?.decision !== "allow") {
      throw new Error(answer?.reason || run.stderr || `obstat could not be asked: ${run.error ?? "no answer"}`);
    }
    if (answer.args) {
      // Only changes in place count.
      for (const key of Object.keys(output.args)) delete output.args[key];
      Object.assign(output.args, answer.args);
    }
  },
});
