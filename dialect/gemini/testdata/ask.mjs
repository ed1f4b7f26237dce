// Puts calls to Gemini CLI's own policy engine: `node ask.mjs BUNDLE < questions > answers`, a JSON
// object a line. A question has files (name to text), mode, interactive, tool and args.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

const bundle = path.resolve(process.argv[2]);
const chunk = fs.readdirSync(bundle).find((f) => f.endsWith('.js') && /\n  PolicyEngine,\n/.test(fs.readFileSync(path.join(bundle, f), 'utf8')));
const { PolicyEngine, loadPoliciesFromToml } = await import(path.join(bundle, chunk));
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'gemini-'));
process.chdir(work);
const say = process.stdout.write.bind(process.stdout);
console.log = console.debug = console.warn = console.error = () => {};

const tiers = (name) => name.includes('.gemini/extensions/') ? 2 : name.includes('/gemini-cli/policies/') ? 5 : name.startsWith('/home/') ? 4 : 3;
const defaults = await loadPoliciesFromToml([path.join(bundle, 'policies')], () => 1);
const loaded = new Map();

async function load(files) {
  const key = JSON.stringify(files);
  if (!loaded.has(key)) {
    const out = { rules: [...defaults.rules], error: false };
    let n = 0;
    for (const [name, text] of Object.entries(files)) {
      const dir = fs.mkdtempSync(path.join(work, 'p'));
      fs.writeFileSync(path.join(dir, `${n++}.toml`), text);
      const got = await loadPoliciesFromToml([dir], () => tiers(name));
      out.error ||= got.errors.some((e) => e.severity !== 'warning');
      out.rules.push(...got.rules);
    }
    loaded.set(key, out);
  }
  return loaded.get(key);
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const q = JSON.parse(line);
  const { rules, error } = await load(q.files);
  if (error) {
    say('{"error":true}\n');
    continue;
  }
  const engine = new PolicyEngine({ rules: [...rules], approvalMode: q.mode, nonInteractive: !q.interactive });
  const got = await engine.check({ name: q.tool, args: q.args }, undefined);
  say(JSON.stringify({ decision: got.decision }) + '\n');
}
fs.rmSync(work, { recursive: true });
