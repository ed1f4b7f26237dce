// Writes ../minimatch.jsonl.gz: what npm's minimatch says, with its defaults on
// Linux. A line is [pattern, [[path, answer], ...]]. The answer is that of
// minimatch 11.0.7; it is 2 + answer where 9.0.5 says otherwise.
//
// In an empty directory:
//   npm i m11@npm:minimatch@11.0.7 m9@npm:minimatch@9.0.5
//   NODE_PATH=$PWD/node_modules node .../minimatch.js out.jsonl.gz [seed] [patterns]
const zlib = require('zlib');
const fs = require('fs');
const m11 = require('m11').minimatch;
const m9 = require('m9').minimatch;

let seed = Number(process.argv[3] || 1);
const rnd = () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const pick = a => a[Math.floor(rnd() * a.length)];
const many = (lo, hi, f) => {
  let s = '';
  for (let n = lo + Math.floor(rnd() * (hi - lo + 1)); n > 0; n--) s += f();
  return s;
};

const HAND = [
  '', '*', '**', '?', '.', '..', '.*', '.**', '..*', '*.*', '*.js', '**.js', '.*.js', '**/*', '**/*.js', '*/**', 'a/**', 'a/**/b', '**/a/**', '**/.a/**',
  '**/a/**/.b', '**/@(a|.a)/**/b', 'a/*', 'a/*/', 'a/', '/a', '/*', '/**', '//a', 'a//b', './a', '../a', 'a/./b', 'a/../b', '*/../b', '**/../b', '..', 'a/..',
  '#a', '\\#a', '!a', '!!a', '!', '!*.js', '!**/a', '\\!a', '!(a)', '!(a|b)', '@(a|b)', '+(a|b)', '*(a|b)', '?(a|b)', 'x!(a)', '!(a)x', 'x!(a)y', 'a!(b)c',
  '@(a)', '@()', '+()', '*()', '?()', 'x@()', 'x!()', '@(|)', '@(a|)', 'x@(a|)', 'x*(a|)', '@(*)', '@(*|b)', '@(.*|a)', '@(?)', '+(?)', '*(?)', '*(.|a)', '+(.a|b)', '@(.a|*)',
  '+(*.js)', 'a@(/)b', '@(a/b)', '*(*(a|b))', '+(a|?(b))', '@(a|@(b|c))', 'x!(!(a))', 'x!(a)!(b)', 'x!(a|b)!(c)d', '@(a', '+(a', 'a@(b', '@(a|b', '@(a|b))', '@((a))', 'a)', 'a|b', '(a|b)',
  '[a]', '[ab]', '[a-c]', '[!a]', '[^a]', '[!a-c]', '[]', '[]a]', '[!]a]', '[a', '[', 'a[', '[a-]', '[-a]', '[c-a]', '[c-ab]', '[*]', '[?]', '[.]a', '[.a]b', '[[]', '[\\]]', '[\\a]', '[a\\]b]',
  '[[:alpha:]]', '[[:digit:]]', '[[:alnum:]]x', '[^[:alpha:]]', '[[:space:]]', '[[:upper:]][[:lower:]]', '[[:punct:]]', '[[:foo:]]', '[[:alpha:]', '[a-[:alpha:]]', '[[:word:]]', '[[:xdigit:]]', '[[:print:]]', '[[:graph:]]', '[[:blank:]]', '[[:cntrl:]]', '[[:ascii:]]', '[![:ascii:]]',
  '[a/b]', '[/]', 'a[/]b', '\\a', '\\*', '\\?', 'a\\', '\\\\', '\\[a]', '*\\}', '*\\*', '?\\?', '*.\\a', 'a\\|b', 'a\\|b*', '\\.*', '\\.a', '\\.?',
  '{a,b}', '{a,b}c', 'a{b,c}d', '{a,b}{c,d}', '{,a}', '{a,}', 'x{,a}', '{a}', '{a', 'a}', '{}', '{},a', 'a{},b}c', '{a},b}', '{1..3}', '{3..1}', '{01..03}', '{1..7..2}', '{a..c}', '{a..e..2}', '{-1..1}', '{1..}', '{..}', '{a,{b,c}}', '{{a,b}}', '{{a,b},c}', '${a,b}', 'a${b}{c,d}',
  '{a,b\\,c}', '\\{a,b}', '{a\\,b}', '{a,b}\\*', '{a,b}\\\\', '*.{js,ts}', '**/*.{js,ts}', '{a/b,c}/d', '{*,a}.js', '{.a,b}', 'a{/b,}', '{!a,b}', '!{a,b}', '{#a,b}', '{a,b}/**', '{**,a}/b', '{@(a|b),c}', '@({a,b}|c)',
  'a?c', 'a*c', 'a**c', 'a***c', '*a*b*', '???', '?*', '*?', '.?', '.??', '..?', '.?*', 'src/**/*.ts', '/etc/**', '**/.git/**', '**/node_modules/**', '.env*', '**/.env', '/home/*/.ssh/**', 'a/b/c', 'a b', 'é*', '?é', '😀', '?', '??', '[😀a]', 'A', '*.JS',
];
const PATHS = [
  '', '/', '//', '.', '..', 'a', 'b', 'c', 'ab', 'abc', 'abcd', 'a.js', '.a', '.a.js', 'a.b.js', 'A', 'a/', 'b/', 'a/b', 'a/b/', 'a/b/c', 'a/x/b', 'a/x/y/b', 'a/.x/b', 'a/.b', '.a/b', '/a', '//a', '/a/b', './a', '../a', 'a/./b', 'a/../b', 'a//b', 'a/b//', 'x', 'xa', 'xb', 'xc', 'xab', 'xay', 'xbd',
  'xd', 'ax', 'bx', 'acd', 'abd', 'ac', 'ad', 'bc', 'bd', 'aa', 'aab', 'ba', 'bbb', '#a', '!a', '!', 'a*', '*', '?', '[', ']', '[a]', '[]', '\\', 'a\\', '\\a', 'a|b', '(a|b)', '@()', '+()', '@(a', 'x}', '}', '{a,b}', '{a', '{}', 'a}', '1', '2', '3', '01', '-1', '0', '7', 'é', 'éa', 'aé', '😀', '-', '_', ' ', 'a b', 'a\nb', '..a', '...', '.env', '.env.local',
  'src/a.ts', 'src/x/a.ts', '.git/config', 'x/.git/config', 'node_modules/x', '/etc/passwd', '/home/u/.ssh/id', 'a.JS', 'a,b', 'Ab', 'aB', '@(a|b', 'a.ts', 'x/a.ts', 'c/d', 'a/b/d', '.ab', '.b', 'a.', 'a.c', 'x@()', 'x!()', '$a', '${a,b}',
];

const atom = () => pick(['a', 'b', 'c', 'x', '.', '*', '*', '?', '**', '[ab]', '[!a]', '[a-c]', '[.a]', 'é', '\\*', '.a', 'ab', '-']);
const ext = d => pick(['!', '?', '+', '*', '@']) + '(' + Array.from({ length: 1 + Math.floor(rnd() * 2.5) }, () => many(0, 2, () => piece(d - 1))).join('|') + ')';
const brace = d => rnd() < 0.2 ? pick(['{1..3}', '{a..c}', '{3..1..2}'])
  : '{' + Array.from({ length: 2 + Math.floor(rnd() * 2) }, () => many(0, 2, () => piece(d - 1))).join(',') + '}';
const piece = d => {
  const k = rnd();
  if (d > 0 && k < 0.12) return ext(d);
  if (d > 0 && k < 0.22) return brace(d);
  return atom();
};
const segment = () => {
  const k = rnd();
  if (k < 0.2) return '**';
  if (k < 0.3) return '*';
  if (k < 0.45) return pick(['a', 'b', '.a', 'x', 'ab']);
  return many(1, 3, () => piece(2));
};
const genPattern = () => {
  let p = segment();
  while (rnd() < 0.45) p += '/' + segment();
  if (rnd() < 0.05) p += '/';
  if (rnd() < 0.05) p = '/' + p;
  if (rnd() < 0.04) p = '!' + p;
  if (rnd() < 0.08) {
    const i = Math.floor(rnd() * (p.length + 1));
    p = rnd() < 0.5 ? p.slice(0, i) + p.slice(i + 1) : p.slice(0, i) + pick(['(', ')', '[', ']', '{', '}', '|', ',', '\\', '!', '/', '*']) + p.slice(i);
  }
  return p;
};
const genPath = () => {
  if (rnd() < 0.2) return pick(PATHS);
  const part = () => many(1, 3, () => pick(['a', 'b', 'c', 'x', '.', 'a', 'b', 'é', '1', '*']));
  let p = rnd() < 0.05 ? '/' : '';
  p += part();
  while (rnd() < 0.5) p += '/' + part();
  if (rnd() < 0.06) p += '/';
  return p;
};

const ask = (p, paths) => [p, paths.map(f => {
  const a = m11(f, p) ? 1 : 0;
  let b = -1;
  try { b = m9(f, p) ? 1 : 0; } catch { /* 9.0.5 makes regular expressions that are none */ }
  return [f, a === b ? a : 2 + a];
})];
const rows = HAND.map(p => ask(p, PATHS));
const want = Number(process.argv[4] || 3000);
const seen = new Set(HAND);
while (rows.length < want) {
  const p = genPattern();
  if (seen.has(p) || p.length > 60) continue;
  seen.add(p);
  rows.push(ask(p, Array.from({ length: 12 }, genPath)));
}
fs.writeFileSync(process.argv[2], zlib.gzipSync(rows.map(r => JSON.stringify(r)).join('\n') + '\n', { level: 9 }));
let n = 0, d = 0;
for (const r of rows) for (const a of r[1]) { n++; if (a[1] > 1) d++; }
console.log(rows.length, 'patterns', n, 'answers', d, 'where the versions differ');
