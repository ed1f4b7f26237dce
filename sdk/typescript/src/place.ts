// Where the server is, whether its socket can be trusted, and how one is started.
import { spawn, spawnSync } from "node:child_process";
import { accessSync, closeSync, constants, lstatSync, mkdirSync, openSync, readFileSync, statSync, type Stats } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { ConfigError, SocketError } from "./errors.js";

/** Where a server is. */
export interface Place {
  /** The path of its Unix socket; "" where it has an address. */
  readonly socket: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** It is the user's own, which may be started. */
  readonly own: boolean;
  /** As a person writes it. */
  readonly name: string;
}

const HINT = "it is unix:/path, http://127.0.0.1:8470 or https://host";

/** Reads an address; undefined is OBSTAT_SERVER, or the socket in the state directory. */
export function place(server?: string): Place {
  const given = server ?? process.env["OBSTAT_SERVER"] ?? "";
  if (given === "") return unix(join(state(), "run", "serve.sock"), true);
  if (given.startsWith("unix:")) {
    const path = given.slice("unix:".length);
    if (!isAbsolute(path) || path.includes("\0")) throw new ConfigError(`the server's socket ${JSON.stringify(path)} is not an absolute path; ${HINT}`);
    return unix(path, false);
  }
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    throw new ConfigError(`the server's address ${JSON.stringify(given)} makes no sense; ${HINT}`);
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const odd = url.pathname !== "/" || url.search || url.hash || url.username || url.password;
  if ((url.protocol !== "http:" && url.protocol !== "https:") || !host || odd) {
    throw new ConfigError(`the server's address ${JSON.stringify(given)} makes no sense; ${HINT}`);
  }
  const tls = url.protocol === "https:";
  if (!tls && !loopback(host)) throw new ConfigError(`${given} would send the token and the calls in the clear to another machine: use https`);
  return { socket: "", host, port: Number(url.port) || (tls ? 443 : 80), tls, own: false, name: `${url.protocol}//${url.host}` };
}

function unix(socket: string, own: boolean): Place {
  return { socket, host: "", port: 0, tls: false, own, name: "unix:" + socket };
}

function loopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** The directory that obstat keeps its state in. */
function state(): string {
  const base = process.env["XDG_STATE_HOME"] ?? "";
  if (isAbsolute(base)) return join(base, "obstat");
  const home = process.env["HOME"] ?? "";
  if (!isAbsolute(home)) throw new ConfigError("neither XDG_STATE_HOME nor HOME says where obstat's state is kept");
  return join(home, ".local", "state", "obstat");
}

/** Throws {@link SocketError} where others than the user and root could answer on a socket. */
export function check(path: string): void {
  if (!process.geteuid) throw new SocketError("Unix sockets cannot be checked on this system; set OBSTAT_SERVER to an http address");
  const info = lstatSync(path); // a link is no socket
  if (!info.isSocket()) throw new SocketError(`${path} is not a socket`);
  mine(path, info, process.geteuid());
  mine(dirname(path), statSync(dirname(path)), process.geteuid());
}

function mine(path: string, info: Stats, me: number): void {
  if (info.uid !== me && info.uid !== 0) throw new SocketError(`${path} belongs to the user ${info.uid}, who could allow everything`);
  if (info.mode & 0o022) {
    const mode = (info.mode & 0o7777).toString(8).padStart(4, "0");
    throw new SocketError(`others may write ${path} (mode ${mode}), and could allow everything; make it 0600, its directory 0700`);
  }
}

/** Finds obstat on PATH: the first program of that name that answers `version --json` as ours does, since another project has a
 * script `obstat` as well. Directories that depend on where the process stands do not count. */
export function program(): string {
  for (const dir of (process.env["PATH"] ?? "").split(delimiter)) {
    if (!isAbsolute(dir)) continue;
    const file = join(dir, "obstat");
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile() && ours(file)) return file;
    } catch {
      // not there
    }
  }
  return "";
}

function ours(file: string): boolean {
  const ran = spawnSync(file, ["version", "--json"], { cwd: "/", encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 10_000 });
  if (ran.status !== 0) return false;
  try {
    const said = JSON.parse(ran.stdout) as { v?: unknown; version?: unknown; go?: unknown; platform?: unknown } | null;
    if (typeof said !== "object" || said === null || said.v !== 1 || typeof said.version !== "string") return false;
    return typeof said.go === "string" && said.go.startsWith("go") && typeof said.platform === "string" && said.platform.includes("/");
  } catch {
    return false;
  }
}

/** Starts a server on a socket. Of several that are started at a time one gets it. */
export function start(path: string): { readonly log: string } {
  const file = program();
  if (!file) throw new Error("no server runs, and obstat is not on PATH (no program there answers `obstat version --json` as ours)");
  const dir = dirname(path);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const log = join(dir, "serve.log");
  const out = openSync(log, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW, 0o600);
  try {
    const child = spawn(file, ["serve", "--addr=", "--socket", path], { detached: true, cwd: "/", stdio: ["ignore", out, out] });
    child.on("error", () => {}); // whoever waits for it hears that nobody listens
    child.unref();
  } finally {
    closeSync(out);
  }
  return { log };
}

/** What a server said last. */
export function lastLine(log: string): string {
  try {
    return readFileSync(log, "utf8").slice(-4096).trim().split("\n").at(-1) ?? "";
  } catch {
    return "";
  }
}
