// A real server for the tests, and people who answer.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";

export const POLICY = '{"permission": {"*": "deny", "safe": "allow", "pay": "ask", "wipe": "deny", "task": "allow", "suite_safe": "allow", "suite_pay": "ask"}}';

/** The obstat that is tested. */
export const BINARY = process.env["OBSTAT_BIN"] ?? "obstat";

/** A request as people see it. */
export interface Seen {
  readonly id: string;
  readonly state: string;
  readonly call: { readonly tool: string; readonly session?: string; readonly input?: unknown };
  readonly outcome?: { readonly ok: boolean; readonly words?: string };
}

/** An obstat server on a socket of its own, and a person's token for it. */
export class Server {
  readonly dir = mkdtempSync(join(tmpdir(), "ob"));
  readonly path = join(this.dir, "s");
  readonly address = "unix:" + this.path;
  #process: ChildProcess | undefined;
  #person = "";

  static async open(policy = POLICY): Promise<Server> {
    const s = new Server();
    chmodSync(s.dir, 0o700);
    writeFileSync(join(s.dir, "opencode.json"), policy);
    await s.start();
    const made = execFileSync("/bin/sh", ["-c", 'unset OBSTAT_TRUST; "$@"; exit $?', "sh", BINARY, "token", "create", "--json", "--person", "ann", "--store", join(s.dir, "obstat.db")], { encoding: "utf8", env: { ...process.env, OBSTAT_TRUST: s.dir } });
    s.#person = (JSON.parse(made) as { token: { secret: string } }).token.secret;
    return s;
  }

  async start(): Promise<void> {
    const log = openSync(join(this.dir, "log"), "a");
    const env = { ...process.env, HOME: this.dir, XDG_STATE_HOME: join(this.dir, "state") };
    const args = ["serve", "--addr=", "--socket", this.path, "--store", join(this.dir, "obstat.db"), "--policy", join(this.dir, "opencode.json")];
    this.#process = spawn(BINARY, args, { env, stdio: ["ignore", log, log] });
    closeSync(log);
    for (const until = Date.now() + 60_000; Date.now() < until; ) {
      try {
        if ((await this.#send("GET", "/readyz")).status === 200) return;
      } catch {
        // not yet
      }
      await sleep(20);
    }
    throw new Error(readFileSync(join(this.dir, "log"), "utf8"));
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (!child) return;
    this.#process = undefined;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill();
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  #send(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> {
    const headers: Record<string, string> = path.startsWith("/v1/") ? { Authorization: "Bearer " + this.#person } : {};
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return new Promise((resolve, reject) => {
      const req = http.request({ socketPath: this.path, method, path, headers, agent: false }, (res) => {
        let text = "";
        res.setEncoding("utf8").on("data", (c: string) => (text += c));
        res.on("end", () => resolve({ status: res.statusCode ?? 0, text }));
      });
      req.on("error", reject);
      req.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async person<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, text } = await this.#send(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return (text ? JSON.parse(text) : null) as T;
  }

  async pending(): Promise<readonly Seen[]> {
    return (await this.person<{ requests: Seen[] }>("GET", "/v1/requests?state=pending")).requests;
  }

  async answer(id: string, allow = true, more: object = {}): Promise<void> {
    await this.person("POST", `/v1/requests/${id}/answer`, { allow, ...more });
  }

  /** Approves what waits, of one session or of all. */
  async approve(session?: string): Promise<readonly string[]> {
    const ids = (await this.pending()).filter((r) => session === undefined || r.call.session === session).map((r) => r.id);
    for (const id of ids) await this.answer(id);
    return ids;
  }

  request(id: string): Promise<Seen> {
    return this.person<Seen>("GET", `/v1/requests/${id}`);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

export function session(): string {
  return randomUUID();
}

/** A server that answers every connection with fixed bytes; null: never. */
export class Fake {
  readonly dir = mkdtempSync(join(tmpdir(), "of"));
  readonly path = join(this.dir, "s");
  readonly address = "unix:" + this.path;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();

  private constructor(reply: string | Buffer | null) {
    this.#server = net.createServer((socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
      socket.on("data", () => {
        if (reply !== null) socket.end(reply);
      });
    });
  }

  static async open(reply: string | Buffer | null): Promise<Fake> {
    const f = new Fake(reply);
    await new Promise<void>((done) => f.#server.listen(f.path, done));
    chmodSync(f.path, 0o600);
    return f;
  }

  async close(): Promise<void> {
    for (const s of this.#sockets) s.destroy();
    await new Promise((done) => this.#server.close(done));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** An answer of a server, as bytes. */
export function reply(body: string, { status = "200 OK", api = "Obstat-Api: 1\r\n" as string } = {}): string {
  return `HTTP/1.1 ${status}\r\n${api}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
