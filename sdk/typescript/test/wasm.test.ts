// The engine in this process. That it answers as the binary does, package inprocess tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BadCall } from "../src/index.js";
import { Engine, PolicyError } from "../src/wasm.js";
import { POLICY } from "./harness.js";

test("decides", async () => {
  const engine = await Engine.load({ dialect: "opencode", files: [{ text: POLICY }] });
  assert.equal(engine.dialect, "opencode");
  assert.ok(engine.decide({ tool: "safe", input: { x: 1 } }).allowed);
  const asks = engine.decide({ tool: "pay", input: { to: "bob" } });
  assert.equal(asks.effect, "deny");
  assert.match(asks.reason, /nobody can be asked/);
  const denied = engine.decide({ tool: "wipe" });
  assert.equal(denied.effect, "deny");
  assert.equal(denied.rule?.text, '"wipe": "deny"');
  assert.throws(() => engine.decide({ tool: "safe", input: { n: NaN } }), BadCall);
  assert.ok(engine.decide({ tool: "safe", input: { text: "x".repeat(1_000_000) } }).allowed);
  for (let i = 0; i < 100; i++) assert.ok(engine.decide({ tool: "safe", input: { i } }).allowed);
});

test("refuses a policy with all that is wrong with it", async () => {
  const e: unknown = await Engine.load({ dialect: "opencode", files: [{ text: '{"permission": {"a": "maybe", "b": 1}}' }] }).catch((e: unknown) => e);
  assert.ok(e instanceof PolicyError);
  assert.equal(e.problems.length, 2);
  assert.equal(e.problems[0]?.pos?.line, 1);
  await assert.rejects(Engine.load({ files: [] }), PolicyError);
  await assert.rejects(Engine.load({ module: new Uint8Array([1, 2, 3]), files: [{ text: POLICY }] }));
});
