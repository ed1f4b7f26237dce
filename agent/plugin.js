// Written by `obstat install NAME`: asks obstat before every tool call.
// One obstat runs as long as TITLE does and answers call by call. A call runs
// only if its answer has code 0 and says allow; everything else, a missing
// program included, throws, and TITLE then does not run the call.
import { spawn } from "node:child_process";

const command = ["obstat", "hook", "NAME"];
const limit = 600000; // milliseconds

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

// Puts a call to obstat: the answer says allow, or deny with a reason.
const decide = async (call) => {
  const said = await ask(JSON.stringify(call));
  let answer;
  try {
    answer = JSON.parse(said.text);
  } catch {
    answer = undefined;
  }
  if (said.status === 0 && answer?.decision === "allow") return answer;
  return { decision: "deny", reason: answer?.reason || said.text || "obstat did not answer, so the call is denied" };
};

// Tells obstat the outcome of a call, and returns the output without its secrets; undefined where it has none.
const masked = async (call) => {
  const said = await ask(JSON.stringify(call));
  try {
    return JSON.parse(said.text).output;
  } catch {
    return undefined;
  }
};

// Puts other arguments in the place of a call's own: only changes in place count.
const replace = (input, args) => {
  if (!args) return;
  for (const key of Object.keys(input)) delete input[key];
  Object.assign(input, args);
};

