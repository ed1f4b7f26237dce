// Written by `obstat install opencode`: asks obstat before every tool call.
// A call runs only if obstat ends with code 0 and says allow; everything else,
// a missing program included, throws, and opencode then does not run the call.
import { spawn } from "node:child_process";

const command = ["obstat", "hook", "opencode"];
const limit = 600000; // milliseconds; opencode itself waits for ever

const ask = (payload) =>
  new Promise((resolve) => {
    const run = spawn(command[0], command.slice(1));
    const timer = setTimeout(() => run.kill("SIGKILL"), limit);
    const done = (answer) => {
      clearTimeout(timer);
      resolve(answer);
    };
    let stdout = "";
    let stderr = "";
    run.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    run.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
    run.on("error", (error) => done({ status: -1, stdout: "", stderr: String(error) }));
    run.on("close", (status) => done({ status, stdout, stderr }));
    run.stdin.on("error", () => {});
    run.stdin.end(payload);
  });

export const Obstat = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const run = await ask(
      JSON.stringify({
        hook_event_name: "tool.execute.before",
        tool: input.tool,
        sessionID: input.sessionID,
        callID: input.callID,
        args: output.args ?? {},
        directory,
      }),
    );
    let answer;
    try {
      answer = JSON.parse(run.stdout);
    } catch {
      answer = undefined;
    }
    if (run.status !== 0 || answer?.decision !== "allow") {
      throw new Error(answer?.reason || run.stderr || "obstat did not answer, so the call is denied");
    }
    if (answer.args) {
      // Only changes in place count.
      for (const key of Object.keys(output.args)) delete output.args[key];
      Object.assign(output.args, answer.args);
    }
  },
});
