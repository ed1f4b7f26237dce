// Writes ../wildcard.jsonl.gz: [pattern, [[text, answer], ...]] a line, by the
// rule of opencode's Wildcard.match as its description has it, on Linux.
//   node wildcard.js
const zlib = require('zlib');
const fs = require('fs');

const match = (input, pattern) => {
  input = input.replaceAll('\\', '/');
  pattern = pattern.replaceAll('\\', '/');
  let re = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.');
  if (re.endsWith(' .*')) re = re.slice(0, -3) + '( .*)?';
  return new RegExp('^' + re + '$', 's').test(input);
};

let seed = 3;
const rnd = () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const pick = a => a[Math.floor(rnd() * a.length)];
const word = (chars, n) => Array.from({ length: Math.floor(rnd() * (n + 1)) }, () => pick(chars)).join('');

const rows = [];
while (rows.length < 2000) {
  const p = word(['a', 'b', ' ', '*', '*', '?', '/', '\\', '😀', 'é', '.', '(', '\n'], 7) + pick(['', '', ' *', '*', ' **']);
  const texts = Array.from({ length: 10 }, () => word(['a', 'a', 'b', ' ', '/', '\\', '😀', 'é', '.', '(', '\n'], 7));
  texts.push(p.replaceAll('*', ''), p.replace(/ \*$/, '').replaceAll('*', 'x').replaceAll('?', 'y'), p.replaceAll('*', 'a/b').replaceAll('??', '😀').replaceAll('?', 'z'));
  rows.push([p, texts.map(t => [t, match(t, p) ? 1 : 0])]);
}
fs.writeFileSync('../wildcard.jsonl.gz', zlib.gzipSync(rows.map(r => JSON.stringify(r)).join('\n') + '\n', { level: 9 }));
console.log(rows.length, rows.reduce((n, r) => n + r[1].length, 0), rows.reduce((n, r) => n + r[1].filter(a => a[1]).length, 0));
