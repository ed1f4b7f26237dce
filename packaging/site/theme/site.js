"use strict";
// The search, over the index of search.js, and the menu of small screens. Texts are shown as text, never as markup.
const root = document.currentScript.dataset.root, box = document.getElementById("search"), hits = document.getElementById("hits");
let at = -1;

// find returns the parts that have all words, those in headings first.
function find(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const list = [];
  for (const e of INDEX) {
    const head = e.t.toLowerCase(), of = e.o.toLowerCase(), body = e.b.toLowerCase();
    let score = 0;
    for (const w of words) {
      const n = (head.includes(w) ? 8 : 0) + (of.includes(w) ? 3 : 0) + (body.includes(w) ? 1 : 0);
      if (!n) { score = 0; break; }
      score += n + (head === w ? 8 : 0);
    }
    if (score) list.push([score, e]);
  }
  return list.sort((a, b) => b[0] - a[0]).slice(0, 12).map((x) => x[1]);
}

function show() {
  const list = find(box.value);
  hits.hidden = !box.value.trim();
  at = -1;
  hits.replaceChildren(...list.map((e) => {
    const a = document.createElement("a"), b = document.createElement("b"), s = document.createElement("small");
    a.href = root + e.p + (e.i ? "#" + e.i : "");
    b.textContent = e.t === e.o ? e.t : e.o + " › " + e.t;
    s.textContent = e.b.trim();
    a.append(b, s);
    return a;
  }));
  if (!list.length && box.value.trim()) {
    const p = document.createElement("p");
    p.textContent = "Nothing has all of these words.";
    hits.append(p);
  }
}

box.addEventListener("input", show);
box.addEventListener("focus", show);
box.addEventListener("keydown", (e) => {
  const list = [...hits.querySelectorAll("a")];
  if (e.key === "Escape") { box.value = ""; show(); box.blur(); }
  if (e.key === "Enter" && list.length) location.href = list[Math.max(at, 0)].href;
  if (e.key !== "ArrowDown" && e.key !== "ArrowUp" || !list.length) return;
  e.preventDefault();
  at = (at + (e.key === "ArrowDown" ? 1 : -1) + list.length) % list.length;
  list.forEach((a, i) => a.classList.toggle("at", i === at));
});
document.addEventListener("click", (e) => { if (!e.target.closest(".search")) hits.hidden = true; });
document.addEventListener("keydown", (e) => { if (e.key === "/" && !e.target.closest("input, textarea")) { e.preventDefault(); box.focus(); } });
document.getElementById("menu").addEventListener("click", (e) => {
  e.currentTarget.setAttribute("aria-expanded", String(document.body.classList.toggle("open")));
});
