import { spawn } from "node:child_process";
import { ObstatError } from "./errors.js";
import { program } from "./place.js";

/** The command was not started: a rule denies it, or it cannot be confined here. */
export class NotConfined extends ObstatError {}

export interface ConfinedOptions {
  /** Where it runs, and whose policy counts; without it the process's working directory. */
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The agent that rules may name. */
  readonly agent?: string;
  readonly input?: string;
}

/** How a command ended. Things that it did not get are told on its standard error, in lines that begin with `obstat:`. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const notStarted = 125;

/** Runs a subprocess confined to the policy in force, by `obstat run`: secrets are not there, hosts are those that rules allow,
 * and changes count once the policy has judged them. A text is one for the shell. Where the command cannot be held so, it does
 * not run, and {@link NotConfined} says why. */
export function confined(args: string | readonly string[], options: ConfinedOptions = {}): Promise<Ran> {
  const file = program();
  if (!file) return Promise.reject(new NotConfined("obstat is not on PATH (no program there answers `obstat version --json` as ours)"));
  const words = typeof args === "string" ? ["-c", args] : ["--", ...args];
  const by = options.agent ? ["--agent", options.agent] : [];
  return new Promise((resolve, reject) => {
    const child = spawn(file, ["run", ...by, ...words], { cwd: options.cwd, env: options.env, stdio: "pipe" });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => out.push(part));
    child.stderr.on("data", (part: Buffer) => err.push(part));
    child.on("error", (e) => reject(new NotConfined(e.message)));
    child.on("close", (code) => {
      const stderr = Buffer.concat(err).toString("utf8");
      const said = stderr.split("\n").filter((l) => l.startsWith("obstat: denied: ") || l.startsWith("obstat: the command was not started: "));
      if (code === notStarted && said.length > 0) reject(new NotConfined((said.at(-1) ?? "").slice("obstat: ".length)));
      else resolve({ code: code ?? 1, stdout: Buffer.concat(out).toString("utf8"), stderr });
    });
    child.stdin.on("error", () => {}); // it may end before it has read all
    child.stdin.end(options.input ?? "");
  });
}
