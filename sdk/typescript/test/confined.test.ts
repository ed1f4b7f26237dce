// Subprocesses that `obstat run` holds to a policy.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { confined, NotConfined } from "../src/index.js";

const policy = "version: 1\nconfine: code\nallow: [read workspace, write workspace]\ndeny: [read secrets, run curl]\n";

function project(t: TestContext): { cwd: string; env: NodeJS.ProcessEnv } {
  const top = mkdtempSync(join(tmpdir(), "obstat-confined-"));
  t.after(() => rmSync(top, { recursive: true, force: true }));
  const cwd = join(top, "home", "p");
  mkdirSync(cwd, { recursive: true });
  mkdirSync(join(top, "bin"));
  symlinkSync(process.env["OBSTAT_BIN"] ?? "obstat", join(top, "bin", "obstat"));
  writeFileSync(join(cwd, "obstat.yaml"), policy);
  writeFileSync(join(cwd, ".env"), "S3CRET=1\n");
  writeFileSync(join(cwd, "tests.sh"), "echo tests; cat .env; echo out > made; exit 3\n");
  const path = process.env["PATH"];
  process.env["PATH"] = `${join(top, "bin")}:${path}`;
  t.after(() => (process.env["PATH"] = path));
  const env = { ...process.env, HOME: join(top, "home"), XDG_STATE_HOME: join(top, "home", "state"), OBSTAT_TRUST: cwd };
  return { cwd, env };
}

test("a command is held to the policy", async (t) => {
  const at = project(t);
  try {
    await confined(["true"], at);
  } catch (e) {
    assert.ok(e instanceof NotConfined);
    return t.skip(`this machine does not confine commands: ${e.reason}`);
  }
  const ran = await confined(["sh", "tests.sh"], at);
  assert.equal(ran.code, 3);
  assert.ok(!(ran.stdout + ran.stderr).includes("S3CRET"));
  assert.equal(readFileSync(join(at.cwd, "made"), "utf8"), "out\n");
  assert.equal((await confined("cat", { ...at, input: "given" })).stdout, "given");
});

test("a denied command does not run", async (t) => {
  await assert.rejects(confined(["curl", "http://example.org"], project(t)), (e) => e instanceof NotConfined && /denied|cannot run confined/.test(e.reason));
});
