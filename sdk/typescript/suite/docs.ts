// Runs the TypeScript examples of the documents around a real server: node build/suite/docs.js
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { BINARY, Server } from "../test/harness.js";

const root = new URL("../../../../", import.meta.url);
const out = new URL("../examples/", import.meta.url);

const OPENCODE = `
const hook = (await Guard({ directory: "/" }))["tool.execute.before"];
const call = (tool, args) => hook({ tool, sessionID: "s", callID: tool }, args);
const output = { args: { x: 1 } };
await call("safe", output);
await call("wipe", { args: { path: "/" } }).catch((e) => console.log(JSON.stringify(output.args), \`\${e.name}: \${e.message}\`));
`;

/** What the document of opencode takes for granted: Node's own minimatch, a prompt and a shell. */
const DOCUMENT = `
import path from "node:path";
import { Engine } from "obstat/wasm";
const minimatch = (value, pattern) => path.matchesGlob(value, pattern);
class RejectedError extends Error {}
const [asked, replies, executed] = [[], new Map(), []];
const showPermissionPrompt = async ({ permission, pattern }) => (asked.push(permission + " " + pattern), replies.get(pattern) ?? "allow");
const [Tool, z] = [{ define: (_, tool) => tool }, { object: (v) => v, string: () => "" }];
const exec = async (command) => (executed.push(command), { stdout: "", stderr: "", exitCode: 0 });
const PermissionNext = { merge: (...all) => merge(...all) };
const [defaultRules, agentRules, userOverrides, sessionOverrides] = [[{ permission: "read", pattern: "*", action: "allow" }], [], [], []];
`;

/** Compares the document's functions with the engine, for each of its configurations. */
const COMPARED = `
const values = {
  read: [["filePath"], "a.txt", "a.env", ".env", "src/a.txt", ".git/config", "src/.git/x", "src/a.env"],
  bash: [["command"], "ls", "rm x"],
  edit: [["filePath"], "a.txt", "node_modules/a/b.js", "src/node_modules/x"],
  webfetch: [["url"], "https://example.com"],
};
let equal = 0;
for (const config of [...configs, { permissions: rules }]) {
  const engine = await Engine.load({ dialect: "opencode", files: [{ name: ".opencode/config.json", text: JSON.stringify(config) }], options: { floor: "off" } });
  for (const [tool, [[name], ...all]] of Object.entries(values)) {
    for (const value of all) {
      const want = evaluate(tool, value, fromConfig(config.permissions)).action;
      const said = engine.decide({ tool, input: { [name]: value, ...(tool === "edit" && { oldString: "a", newString: "b" }) } });
      const got = /nobody can be asked/.test(said.reason) ? "ask" : said.effect;
      if (got !== want) throw new Error([JSON.stringify(config), tool, value, "is", want, "and not", got, said.reason].join(" "));
      equal++;
    }
  }
}
const ruleset = [{ permission: "bash", pattern: "rm*", action: "deny" }, { permission: "edit", pattern: "*", action: "allow" }];
const run = (command) => BashTool.execute({ command }, { ask: (input) => ask({ ...input, sessionID: "s", ruleset }) });
replies.set("make", "allow_always").set("git push", "deny");
for (const command of ["ls", "make", "make"]) await run(command);
const refused = [];
for (const command of ["rm x", "git push"]) await run(command).catch((e) => refused.push(e instanceof RejectedError));
const ctx = { ask: (input) => ask({ ...input, sessionID: "s", ruleset }) };
await assertExternalDirectory(ctx, path.join(process.cwd(), "a.txt"));
await assertExternalDirectory(ctx, "/elsewhere/a.txt");
console.log(equal, executed.join(), refused.join(), asked.join(), finalRules.length);
`;

/** The pages, where their models come from, and the texts that each example prints. Those of a document are `joined`: its functions
 * call each other. */
const pages: readonly { page: string; model?: string; head?: string; tail?: string; joined?: boolean; prints: readonly RegExp[] }[] = [
  { page: "sdk/typescript/README.md", prints: [/^deny /, /^(\d+ |not run: )/, /^allow$/] },
  { page: "docs/frameworks/vercel-ai-sdk.md", model: "ai", prints: [/tool-call.*tool-approval-request/s] },
  { page: "docs/frameworks/langchain.md", model: "langchain", prints: [/'human', 'ai'/] },
  { page: "docs/frameworks/openai-agents.md", model: "openai-agents", prints: [/'pay'/] },
  // As opencode calls it; around the real program it is run by opencode.ts.
  { page: "docs/frameworks/opencode.md", tail: OPENCODE, prints: [/^{"x":1} Denied: deny rule/] },
  { page: "docs/frameworks/opencode-document.md", head: DOCUMENT, joined: true, tail: COMPARED, prints: [/^52 ls,make,make true,true bash ls,bash make,bash git push,external_directory \/elsewhere\/a.txt 1$/] },
  // Large, and in make test-sdk alone.
  ...(process.env["FULL"] ? [{ page: "docs/frameworks/claude-agent-sdk.md", head: 'import { example } from "../suite/claude-agent-sdk.js";\nawait example();\n', prints: [/denied: deny rule/] }] : []),
];

const server = await Server.open();
mkdirSync(out, { recursive: true });
try {
  for (const { page, model, head = model ? `import { example as model } from "../suite/${model}.js";\n` : "", tail = "", joined, prints } of pages) {
    const text = readFileSync(new URL(page, root), "utf8");
    const all = (kinds: string): string[] => [...text.matchAll(new RegExp(`^\`\`\`(?:${kinds})\\n(.*?)^\`\`\`$`, "gms"))].map((m) => m[1] ?? "");
    // The functions of a document call each other: they are one program, in which a rule alone is an expression.
    const blocks = !joined ? all("ts") : [`const configs = [${all("json").join(",")}];\n` + all("typescript").map((b) => (b.startsWith("{") ? `(${b});\n` : b)).join(";\n")];
    if (blocks.length !== prints.length) throw new Error(`${page} has ${blocks.length} examples, ${prints.length} are known`);
    for (const [i, code] of blocks.entries()) {
      const file = new URL(`${page.replaceAll(/\W/g, "-")}-${i}.js`, out);
      writeFileSync(file, head + ts.transpileModule(code, { compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 } }).outputText + tail);
      const path = dirname(BINARY) + delimiter + (process.env["PATH"] ?? "");
      const env = { ...process.env, PATH: path, OBSTAT_SERVER: server.address };
      const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", file.pathname], { env, timeout: 120_000 });
      if (!prints[i]?.test(stdout.trim())) throw new Error(`example ${i + 1} of ${page} printed ${stdout}`);
      console.log(`${page} ${i + 1}: ${stdout.trim().replaceAll(/\s+/g, " ").slice(0, 100)}`);
    }
  }
} finally {
  await server.close();
}
