import { deny, type Decision } from "./types.js";

/** What is thrown. `decision` always denies, except in {@link Pending}, which asks. */
export class ObstatError extends Error {
  readonly reason: string;
  readonly decision: Decision;
  constructor(reason: string, decision: Decision = deny(reason)) {
    super(reason);
    this.name = new.target.name;
    this.reason = reason;
    this.decision = decision;
  }
}

/** The call cannot be sent: its input is no JSON, too large or too deep, or it names no tool. */
export class BadCall extends ObstatError {}
/** The server speaks another version of the API, or is no obstat server. */
export class VersionError extends ObstatError {}
/** Others could answer on the socket. */
export class SocketError extends ObstatError {}
/** The address or an option makes no sense. */
export class ConfigError extends ObstatError {}
/** The call may not run. */
export class Denied extends ObstatError {}
/** A person is asked; put the call again, with its id, once there is an answer. */
export class Pending extends ObstatError {}
