// The adversarial suite: each case once, over every framework's driver, with obstat and with the framework's own approval.
import { readFileSync } from "node:fs";
import { Client } from "../src/index.js";
import type { GuardOptions } from "../src/adapters/guard.js";
import { Fake, Server, session as newSession } from "../test/harness.js";

/** A call that the scripted model makes. */
export interface Made {
  readonly tool: string;
  readonly input: Record<string, unknown>;
}

/** What a driver starts with. */
export interface Setup {
  /** Options for the adapter; undefined: the framework's own approval. */
  readonly guard: GuardOptions | undefined;
  /** Where the server is, for programs of their own, and whether it asks somebody. */
  readonly address: string;
  asked(): Promise<boolean>;
  /** The calls of the model's first turn. */
  readonly calls: readonly Made[];
  readonly stream?: boolean;
  /** A tool wipe2 is added after the agent was made. */
  readonly added?: boolean;
  /** The calls are made by an agent inside a tool. */
  readonly nested?: boolean;
  readonly log: string[];
}

/** How a paused run is resumed, in the framework's own form. */
export interface Resume {
  /** The call that is put in place of the one that was asked about. */
  readonly edit?: Made;
  /** Nobody has approved; the yes is made up. */
  readonly forged?: boolean;
}

/** A run that may have paused. */
export interface Run {
  /** Goes on with a made-up or honest yes to all that was asked, from what was saved, with new objects. */
  resume(how?: Resume): Promise<Run>;
}

/** What came of a call: it ran, a person was asked first, or it was refused. */
export type Tried = "ran" | "asked" | "refused";

/** A framework. */
export interface Driver {
  /** The framework's own rules that calls are tried under, "none" among them. */
  readonly rules?: readonly string[];
  /** Makes the calls under such a rule, with obstat beside it where the setup has a guard; returns whether the run has paused. */
  attempt?(setup: Setup, rule: string): Promise<boolean>;
  readonly name: string;
  readonly version: string;
  start(setup: Setup): Promise<Run>;
  /** false: calls have sessions of the framework's own making. */
  readonly sessions?: boolean;
  /** Milliseconds that it may take to start a program of its own. */
  readonly slack?: number;
  /** Cases that the framework cannot have, and why; "own " before the name: for its own approval only. */
  readonly cannot?: Readonly<Record<string, string>>;
  /** What is to be known of a case's own result. */
  readonly notes?: Readonly<Record<string, string>>;
}

/** What came of a case. */
export interface Outcome {
  readonly held: boolean | null;
  readonly ran: readonly string[];
  readonly note?: string;
}

/** The version of an installed package. */
export function version(name: string): string {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** A tool's function: it writes down what ran. */
export function work(log: string[], tool: string): (input: Record<string, unknown>) => string {
  return (input) => {
    const order = Object.keys(TOOLS[tool as keyof typeof TOOLS] ?? TOOLS.wipe);
    log.push(`${tool}(${order.map((name) => String(input[name])).join(",")})`);
    return "done";
  };
}

/** The tools that every driver has, and their arguments. */
export const TOOLS = { safe: { x: "number" }, pay: { to: "string", amount: "number" }, wipe: { path: "string" } } as const;

const pay: Made = { tool: "pay", input: { to: "bob", amount: 5 } };
const eve: Made = { tool: "pay", input: { to: "eve", amount: 5000 } };
const wipe: Made = { tool: "wipe", input: { path: "/" } };
const safe = (x: number): Made => ({ tool: "safe", input: { x } });

/** One case at work. */
interface Stage {
  start(calls: readonly Made[], more?: Partial<Setup>): Promise<Run>;
  /** A person approves what was asked; the framework's own approval has no such person. */
  approve(): Promise<void>;
  readonly log: string[];
  /** Milliseconds that the framework takes besides. */
  readonly slack: number;
}

const count = (log: readonly string[], line: string): number => log.filter((l) => l === line).length;
const onlyOnce = (log: readonly string[]): boolean => log.length === 1 && log[0] === "pay(bob,5)";

type Case = (s: Stage) => Promise<boolean>;

export const CASES: Readonly<Record<string, Case>> = {
  forged: async (s) => {
    await (await s.start([pay])).resume({ forged: true });
    return s.log.length === 0;
  },
  replayed: async (s) => {
    const run = await s.start([pay]);
    await s.approve();
    await run.resume();
    await run.resume().catch(() => undefined);
    return onlyOnce(s.log);
  },
  edited: async (s) => {
    const run = await s.start([pay]);
    await s.approve();
    await run.resume({ edit: eve }).catch(() => undefined);
    return count(s.log, "pay(eve,5000)") === 0;
  },
  "other-tool": async (s) => {
    const run = await s.start([pay]);
    await s.approve();
    await run.resume({ edit: wipe }).catch(() => undefined);
    return count(s.log, "wipe(/)") === 0;
  },
  parallel: async (s) => {
    const run = await s.start([safe(1), pay, wipe, safe(2)]);
    const before = s.log.every((l) => l.startsWith("safe(")); // some frameworks run them after the answer
    await s.approve();
    await run.resume();
    return before && [...s.log].sort().join() === "pay(bob,5),safe(1),safe(2)";
  },
  streaming: async (s) => {
    const run = await s.start([pay], { stream: true });
    const before = s.log.length === 0;
    await s.approve();
    await run.resume();
    return before && onlyOnce(s.log);
  },
  crash: async (s) => {
    const run = await s.start([pay]);
    await s.approve();
    await Promise.allSettled([run.resume(), run.resume()]);
    return onlyOnce(s.log);
  },
  gone: async (s) => {
    await s.start([safe(1), pay]).catch(() => undefined);
    return s.log.length === 0;
  },
  late: async (s) => {
    const began = performance.now();
    await s.start([safe(1)]).catch(() => undefined);
    return s.log.length === 0 && performance.now() - began < LATE * 1000 * 2 + 30_000 + s.slack; // asked whether it asks, and decided
  },
  added: async (s) => {
    await s.start([{ tool: "wipe2", input: { path: "/" } }], { added: true }).catch(() => undefined);
    return s.log.length === 0;
  },
  subagent: async (s) => {
    await s.start([wipe], { nested: true }).catch(() => undefined);
    return s.log.length === 0;
  },
};

const LATE = 1;

/** Runs a case with obstat. */
async function withObstat(driver: Driver, name: string, server: Server): Promise<Outcome> {
  const log: string[] = [];
  const fake = name === "late" ? await Fake.open(null) : undefined;
  const session = newSession();
  const client = new Client({ server: fake?.address ?? server.address, timeout: fake ? LATE : 60 });
  const before = (await server.pending()).length; // what earlier cases have left
  const asked = async (): Promise<boolean> => name !== "gone" && (await server.pending()).length > before;
  const start: Stage["start"] = (calls, more) => driver.start({ guard: { client, session }, address: fake?.address ?? server.address, asked, calls, log, ...more });
  if (name === "gone") await server.stop();
  try {
    const held = await (CASES[name] as Case)({ start, log, slack: driver.slack ?? 0, approve: async () => void (await server.approve(driver.sessions === false ? undefined : session)) });
    return { held, ran: log.sort() };
  } finally {
    client.close();
    await fake?.close();
    if (name === "gone") await server.start();
  }
}

/** Runs a case with the framework's own approval. */
async function withOwn(driver: Driver, name: string): Promise<Outcome> {
  if (name === "gone" || name === "late") return { held: null, ran: [], note: "it has no server" };
  const log: string[] = [];
  const start: Stage["start"] = (calls, more) => driver.start({ guard: undefined, address: "", asked: async () => false, calls, log, ...more });
  try {
    const held = await (CASES[name] as Case)({ start, log, slack: driver.slack ?? 0, approve: async () => {} });
    return { held, ran: log.sort() };
  } catch (e) {
    return { held: log.length === 0, ran: log, note: String(e).split("\n")[0]?.slice(0, 120) ?? "" };
  }
}

/** All results of a framework, in the form that sdk/results.py reads. */
export async function results(driver: Driver, only: readonly string[] = []): Promise<object> {
  const server = await Server.open();
  const rows: object[] = [];
  try {
    for (const name of only.length > 0 ? only : Object.keys(CASES)) {
      const cannot = driver.cannot?.[name];
      const notOwn = driver.cannot?.["own " + name];
      const obstat: Outcome = cannot ? { held: null, ran: [], note: cannot } : await withObstat(driver, name, server);
      const own: Outcome = (cannot ?? notOwn) ? { held: null, ran: [], note: cannot ?? notOwn ?? "" } : await withOwn(driver, name);
      const note = driver.notes?.[name];
      rows.push({ case: name, obstat, own: note && own.held !== null ? { ...own, note } : own });
    }
  } finally {
    await server.close();
  }
  return { framework: driver.name, language: "typescript", version: driver.version, rows };
}
