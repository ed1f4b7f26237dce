// Sends requests to the server: kept connections, one deadline for each, every fault named.
import http from "node:http";
import https from "node:https";
import net from "node:net";
import type { Duplex } from "node:stream";
import { ObstatError, VersionError } from "./errors.js";
import { check, lastLine, start, type Place } from "./place.js";
import type { FaultCode } from "./types.js";

/** The version of the API that this package speaks. */
export const API = "1";
/** Milliseconds that connecting may take, and that a server may take to start. */
const CONNECT = 2_000;
const START = 10_000;
/** How much of an answer is read. */
const MAX_ANSWER = 16 * 1024 * 1024;
/** Others, as Bun, which opencode runs plugins in, take no notice of {@link SocketAgent}. */
const NODE = !("bun" in process.versions) && !("deno" in process.versions);
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** A request. */
export interface Ask {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  /** Milliseconds in which the whole answer has to be there. */
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/** What the server answered. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Why there is no answer. */
export class Fault extends Error {
  readonly code: FaultCode;
  /** Nobody listens, so that a server may be started. */
  readonly absent: boolean;
  constructor(code: FaultCode, reason: string, absent = false) {
    super(reason);
    this.code = code;
    this.absent = absent;
  }
}

/** The connection to a server. */
export class Transport {
  readonly #place: Place;
  readonly #agent: http.Agent;
  readonly #headers: http.OutgoingHttpHeaders = { "Content-Type": "application/json" };
  readonly #start: boolean;
  #starting: Promise<void> | undefined;

  constructor(place: Place, token: string, start: boolean) {
    this.#place = place;
    this.#start = start && place.own;
    if (token) this.#headers["Authorization"] = "Bearer " + token;
    const options = { keepAlive: true, maxSockets: 64, maxFreeSockets: 16, scheduling: "lifo" } as const;
    this.#agent = place.socket ? new SocketAgent(options) : place.tls ? new https.Agent(options) : new http.Agent(options);
  }

  /** Sends a request. Rejects with a {@link Fault}, or with what a caller has to know of: a {@link ObstatError}. */
  async send(ask: Ask): Promise<Answer> {
    try {
      return await this.#put(ask);
    } catch (e) {
      if (!(e instanceof Fault) || !e.absent || !this.#start) throw e;
    }
    this.#starting ??= this.#begin().finally(() => (this.#starting = undefined));
    await this.#starting;
    return await this.#put(ask);
  }

  /** Closes the connections that are kept. */
  close(): void {
    this.#agent.destroy();
  }

  async #begin(): Promise<void> {
    let log: string;
    try {
      ({ log } = start(this.#place.socket));
    } catch (e) {
      throw this.#unreachable(e);
    }
    const until = Date.now() + START;
    while (Date.now() < until) {
      try {
        if ((await this.#put({ method: "GET", path: "/readyz", timeout: 1_000 })).status === 200) return;
      } catch (e) {
        if (!(e instanceof Fault)) throw e;
      }
      await new Promise((done) => setTimeout(done, 20));
    }
    throw this.#unreachable(new Error(`a server that was started did not become ready: ${lastLine(log)}`));
  }

  async #put(ask: Ask): Promise<Answer> {
    const until = performance.now() + ask.timeout;
    for (;;) {
      const answer = await this.#once(ask, until);
      if (answer !== "stale") return answer;
    }
  }

  /** Sends a request once; "stale": on a kept connection that the server had closed. */
  #once(ask: Ask, until: number): Promise<Answer | "stale"> {
    return new Promise((resolve, reject) => {
      let failed: Error | undefined;
      const { socket, host, port, tls } = this.#place;
      try {
        if (socket && !NODE) check(socket);
      } catch (e) {
        return reject(e instanceof ObstatError ? e : this.#unreachable(e));
      }
      const options: http.RequestOptions = { method: ask.method, path: ask.path, agent: this.#agent, headers: this.#headers };
      const to = socket ? { ...options, socketPath: socket, host: "obstat" } : { ...options, host, port };
      const req = (tls ? https : http).request(to);
      // Bun does not tell of a request that was destroyed.
      const stop = (e: Error): void => {
        failed ??= e;
        end();
        reject(failed);
        req.destroy(e);
      };
      const timer = setTimeout(
        () => stop(new Fault("timeout", `obstat at ${this.#place.name} did not answer within ${ask.timeout / 1000} seconds`)),
        Math.max(1, until - performance.now()),
      );
      const abort = (): void => stop(new ObstatError("the caller has given up"));
      const end = (): void => {
        clearTimeout(timer);
        ask.signal?.removeEventListener("abort", abort);
      };
      req.on("error", (e: NodeJS.ErrnoException) => {
        end();
        if (failed) return;
        if (e instanceof ObstatError) reject(e);
        else if (req.reusedSocket && (e.code === "ECONNRESET" || e.code === "EPIPE")) resolve("stale");
        else if (e.code?.startsWith("HPE_")) reject(new Fault("unreadable", `what answered at ${this.#place.name} cannot be read: ${e.message}`));
        else reject(this.#unreachable(e));
      });
      req.on("response", (res) => {
        const chunks: Buffer[] = [];
        let size = 0;
        res.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          if ((size += chunk.length) > MAX_ANSWER) stop(new Fault("unreadable", `the answer of ${this.#place.name} is larger than ${MAX_ANSWER} bytes`));
        });
        res.on("error", (e) => {
          end();
          reject(this.#unreachable(e));
        });
        res.on("end", () => {
          end();
          try {
            resolve(this.#checked(res, chunks));
          } catch (e) {
            reject(e as Error);
          }
        });
      });
      if (ask.signal?.aborted) return abort();
      ask.signal?.addEventListener("abort", abort);
      req.end(ask.body);
    });
  }

  #checked(res: http.IncomingMessage, chunks: Buffer[]): Answer {
    const api = res.headers["obstat-api"];
    if (api !== API) {
      const what = api === undefined ? "is no obstat server, or one of another version" : `speaks version ${String(api)} of the API`;
      throw new VersionError(`${this.#place.name} ${what}; this package speaks version ${API}`);
    }
    const status = res.statusCode ?? 0;
    if (status >= 300 && status < 400) throw new Fault("unreadable", `${this.#place.name} sends elsewhere, which obstat never does`);
    try {
      return { status, body: UTF8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)) };
    } catch {
      throw new Fault("unreadable", `the answer of ${this.#place.name} is no UTF-8`);
    }
  }

  #unreachable(e: unknown): Fault {
    const why = e instanceof Error ? e.message : String(e);
    const code = (e as NodeJS.ErrnoException).code;
    return new Fault("unreachable", `obstat cannot be reached at ${this.#place.name}: ${why}`, code === "ENOENT" || code === "ECONNREFUSED");
  }
}

/** Looks at a socket each time before it is connected to. */
class SocketAgent extends http.Agent {
  override createConnection(options: http.ClientRequestArgs, done?: (err: Error | null, stream: Duplex) => void): Duplex {
    const path = options.socketPath ?? "";
    try {
      check(path);
    } catch (e) {
      const none = new net.Socket();
      process.nextTick(() => none.destroy(e as Error));
      return none;
    }
    const socket = net.connect({ path }, () => socket.setTimeout(0));
    socket.setTimeout(CONNECT, () => socket.destroy(new Error("connecting took too long")));
    done?.(null, socket);
    return socket;
  }
}
