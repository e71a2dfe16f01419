// Shared by all pages: the connection, the store of live rows, the router, number formats, small elements.
import { html, render, useState, useEffect, useRef, useMemo, useCallback, useLayoutEffect } from "./vendor/htm-preact.js";
export { html, render, useState, useEffect, useRef, useMemo, useCallback, useLayoutEffect };

// the server

export class Gone extends Error {}

export async function ask(path, parameters) {
  const query = parameters ? "?" + new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value != null)) : "";
  const answer = await fetch(`/api/${path}${query}`, { cache: "no-store" });
  if (answer.status === 401) { store.set({ locked: true }); throw new Gone("locked"); }
  if (!answer.ok) throw new Error(answer.status === 404 ? "There is no such thing here." : `The server answered ${answer.status}.`);
  return answer.json();
}

export async function act(name, what, body = {}) {
  const answer = await fetch(`/api/recording/${encodeURIComponent(name)}/${what}`, {
    method: "POST", headers: { "X-Toolmend": "1", "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(answer.status === 403 ? "This server writes nothing (--read-only)." : `The server answered ${answer.status}.`);
  return answer.json();
}

/** The result of a promise; requested again when one of `keys` changes. */
export function useAsked(get, keys) {
  const [state, set] = useState({ value: null, error: null, busy: true });
  const number = useRef(0);
  const again = useCallback(() => {
    const mine = ++number.current;
    set((before) => ({ ...before, busy: true }));
    get().then((value) => mine === number.current && set({ value, error: null, busy: false }),
      (error) => mine === number.current && set((before) => ({ ...before, error, busy: false })));
  }, keys);
  useEffect(() => { set({ value: null, error: null, busy: true }); again(); return () => { number.current++; }; }, keys);
  return { ...state, again };
}

// live rows

class Store {
  constructor() {
    this.state = { connected: false, ended: false, locked: false, live: new Map(), pieces: new Map(), status: null, offset: 0, notify: false, ...theme() };
    this.ears = new Set();
    this.rowEars = new Set();
    this.seen = new Map();
  }
  set(some) { this.state = { ...this.state, ...some }; for (const ear of this.ears) ear(); }
  now() { return Date.now() / 1000 + this.state.offset; }
}
export const store = new Store();

export function useStore(pick) {
  const [, again] = useState(0);
  const last = useRef();
  last.current = pick(store.state);
  useEffect(() => {
    const ear = () => { if (pick(store.state) !== last.current) again((n) => n + 1); };
    store.ears.add(ear);
    ear();
    return () => store.ears.delete(ear);
  }, []);
  return last.current;
}

/** Calls back with the changed rows. */
export function useRows(hear, keys = []) {
  useEffect(() => { store.rowEars.add(hear); return () => store.rowEars.delete(hear); }, keys);
}

let socket = null;
const watched = new Map();

export function connect() {
  if (socket) return;
  socket = new WebSocket(`ws://${location.host}/api/live`);
  socket.onmessage = (event) => heard(JSON.parse(event.data));
  socket.onopen = () => { store.set({ connected: true, ended: false }); sendWatched(); };
  socket.onclose = () => {
    socket = null;
    if (store.state.connected) store.set({ connected: false });
    setTimeout(() => { if (!store.state.locked) connect(); }, document.hidden ? 3000 : 1000);
  };
}

function sendWatched() {
  if (socket && socket.readyState === 1) socket.send(JSON.stringify({ watch: [...watched.keys()] }));
}

/** The text of an answer in progress, as it arrives. */
export function usePieces(id, wanted) {
  useEffect(() => {
    if (!wanted) return undefined;
    watched.set(id, (watched.get(id) || 0) + 1);
    sendWatched();
    return () => {
      if (watched.get(id) > 1) watched.set(id, watched.get(id) - 1);
      else { watched.delete(id); sendWatched(); }
    };
  }, [id, wanted]);
  return useStore((state) => state.pieces.get(id));
}

function heard(message) {
  const next = {};
  if (message.now) next.offset = message.now - Date.now() / 1000;
  if (message.hello) { ask("status").then((status) => store.set({ status })).catch(() => {}); refreshLive(); }
  if (message.ready) ask("status").then((status) => store.set({ status })).catch(() => {});
  const live = new Map(store.state.live);
  let changed = false;
  for (const row of message.rows || []) {
    if (row.live) live.set(row.id, { ...live.get(row.id), ...row });
    else if (live.delete(row.id)) ended(row);
    changed = true;
  }
  if (message.live) {
    const pieces = new Map(store.state.pieces);
    for (const [key, one] of Object.entries(message.live)) {
      const id = +key, before = live.get(id);
      if (before && one.doing) { live.set(id, { ...before, bytes: one.bytes, changed_at: one.changed_at, doing: one.doing, tail: one.tail, usual_gap: one.usual_gap }); changed = true; }
      if (one.pieces) pieces.set(id, joined(pieces.get(id) || [], one.pieces));
    }
    next.pieces = pieces;
  }
  for (const id of message.gone || []) changed = live.delete(id) || changed;
  if (changed) next.live = live;
  store.set(next);
  if (message.rows || message.gone) for (const ear of store.rowEars) ear(message.rows || [], message.gone || []);
}

async function refreshLive() {
  try {
    const { live } = await ask("sessions", { limit: 1 });
    store.set({ live: new Map(live.map((row) => [row.id, row])) });
    for (const ear of store.rowEars) ear([], []);
  } catch { /* the next message has it */ }
}

function joined(before, more) {
  let pieces = before.slice();
  for (const [kind, text] of more) {
    const last = pieces[pieces.length - 1];
    if (kind === "") pieces = [];
    else if (last && last[0] === kind && kind !== "call") pieces[pieces.length - 1] = [kind, last[1] + text];
    else pieces.push([kind, text]);
  }
  return pieces;
}

// notifications, off by default

const told = new Set();
export function notify(key, title, body, path) {
  if (!store.state.notify || told.has(key) || !document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
  told.add(key);
  const note = new Notification(title, { body, tag: key });
  note.onclick = () => { window.focus(); go(path); note.close(); };
}
function ended(row) {
  if (isBad(row)) notify(`bad-${row.id}`, `${row.agent || row.model}: ${stateWord(row)}`, row.error || row.title, `/r/${row.name}`);
  else if (row.suspect) notify(`suspect-${row.id}`, "A tool call may be left in a text", row.suspect, `/r/${row.name}`);
}

// the address

export function go(path, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  for (const ear of routeEars) ear();
  if (!replace) document.querySelector("main")?.focus({ preventScroll: true });
}
const routeEars = new Set();
addEventListener("popstate", () => { for (const ear of routeEars) ear(); });
export function useRoute() {
  const [, again] = useState(0);
  useEffect(() => { const ear = () => again((n) => n + 1); routeEars.add(ear); return () => routeEars.delete(ear); }, []);
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}
export function withQuery(some) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(some)) value ? query.set(name, value) : query.delete(name);
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : "");
}
export function Link({ to, children, ...rest }) {
  const click = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${to} onClick=${click} ...${rest}>${children}</a>`;
}

// keys

const keyStack = [];
/** `keys`: {"j": [function, "next"]}; a page's keys override the frame's. */
export function useKeys(keys, deps, ofFrame = false) {
  useLayoutEffect(() => { // before the page is visible, so that no key is missed
    if (ofFrame) keyStack.unshift(keys);
    else keyStack.push(keys);
    store.set({ keys: {} });
    return () => { keyStack.splice(keyStack.indexOf(keys), 1); store.set({ keys: {} }); };
  }, deps);
}
export function hints() {
  const all = new Map();
  for (const keys of keyStack) for (const [key, [, word]] of Object.entries(keys)) if (word) { all.delete(key); all.set(key, word); }
  return [...all];
}
addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  const typing = event.target.matches?.("input, textarea, select");
  if (typing && event.key === "Escape") { event.target.blur(); return; }
  if (typing) return;
  if (document.querySelector("dialog[open]")) return;
  for (let at = keyStack.length - 1; at >= 0; at--) {
    const found = keyStack[at][event.key];
    if (found) { if (found[0](event) !== false) event.preventDefault(); return; }
  }
});

// formats

const whole = new Intl.NumberFormat("en");
export const number = (value) => (value == null ? "—" : whole.format(value));
export const plural = (count, one, more = one + "s") => `${whole.format(count)} ${count === 1 ? one : more}`;
export function tokens(value) {
  if (value == null) return "—";
  if (value < 1000) return String(value);
  if (value < 100_000) return `${(value / 1000).toFixed(1)}k`;
  return value < 1e6 ? `${Math.round(value / 1000)}k` : `${(value / 1e6).toFixed(2)}M`;
}
export function bytes(value) {
  if (value == null) return "—";
  if (value < 1000) return `${value} B`;
  return value < 1e6 ? `${(value / 1000).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}
export function time(ms, digits) {
  if (ms == null) return "—";
  if (ms < 1000 && digits == null) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  const s = ms / 1000;
  if (digits != null) return `${s.toFixed(digits)} s`;
  if (s < 100) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  return s < 3600 ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}
export const money = (value, more) => (value == null ? "—" : `$${value < 1 ? value.toFixed(value < 0.01 ? 4 : 3) : value.toFixed(2)}${more ? "+" : ""}`);
export function ago(at) {
  const s = Math.max(0, store.now() - at);
  if (s < 60) return "now";
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  const day = new Date(at * 1000);
  return s < 7 * 86400 ? day.toLocaleDateString("en", { weekday: "short", hour: "2-digit", minute: "2-digit", hour12: false }) : day.toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" });
}
export const clockTime = (at) => new Date(at * 1000).toLocaleTimeString("en", { hour12: false });
export const full = (at) => new Date(at * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium", hour12: false });

/** Seconds of silence that are amber, or red; more for an answer whose pieces usually arrive slowly. */
const AMBER = 15, RED = 60, USUAL = 3;
export const silence = (row, since) => (since >= Math.max(RED, 2 * USUAL * (row.usual_gap || 0)) ? "red" : since >= Math.max(AMBER, USUAL * (row.usual_gap || 0)) ? "amber" : "");
export const isBad = (row) => row.state === "upstream_error" || row.state === "unanswered" || row.state === "unreadable" || row.status >= 400;
export function stateWord(row) {
  if (row.live) return row.state === "waiting" ? "waiting" : "live";
  if (row.state === "complete" && row.status >= 400) return `error ${row.status}`;
  return { complete: "complete", upstream_error: "broke off", client_closed: "interrupted", partial: "cut", waiting: "cut", unanswered: "no answer", unreadable: "unreadable" }[row.state] || row.state;
}
export function tone(row) {
  if (row.live) return "live";
  if (isBad(row)) return "bad";
  if (row.suspect) return "warn";
  if (row.state !== "complete") return "dim";
  return row.rules && row.rules.length ? "mended" : "good";
}

// elements

let probe = null;
/** A colour of the style sheet, in a canvas's form. */
export function color(name) {
  if (!probe) { probe = document.createElement("i"); probe.hidden = true; document.body.append(probe); }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

export const Dot = ({ tone: name, title }) => html`<span class="dot ${name}" title=${title} role="img" aria-label=${title || name}></span>`;
export const Chip = ({ tone: name = "", title, children }) => html`<span class="chip ${name}" title=${title}>${children}</span>`;

export function useTick(ms = 250) {
  const [, again] = useState(0);
  useEffect(() => { const timer = setInterval(() => again((n) => n + 1), ms); return () => clearInterval(timer); }, [ms]);
}

/** Seconds since the last byte of a recording in progress. */
export function Clock({ row }) {
  useTick();
  const since = Math.max(0, store.now() - (row.changed_at || row.at));
  const level = silence(row, since);
  if (level) notify(`stall-${row.id}-${level}`, `${row.agent || row.model} is silent`, `${time(since * 1000, 0)} without a byte`, `/r/${row.name}`);
  const what = row.state === "waiting" || !row.bytes ? "waiting for the first byte" : "since the last byte";
  return html`<span class="clock ${level}" title=${what}>${since < 10 ? since.toFixed(1) : Math.floor(since)} s</span>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><div class="empty-mark">◌</div><h2>${title}</h2>${children}</div>`;
}
export function Failed({ error, again }) {
  return html`<div class="empty"><div class="empty-mark bad">!</div><h2>${String(error.message || error)}</h2>${again && html`<button onClick=${again}>Try again</button>`}</div>`;
}
export const Busy = () => html`<div class="busy" role="status"><span></span><span></span><span></span><i class="sr">Loading</i></div>`;

const TAGS = new Set("blockquote br code em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul a".split(" "));
/** A tree of markdown.py as elements; its texts never become markup. */
export function Tree({ nodes }) { return (nodes || []).map((node, at) => branch(node, at)); }
function branch(node, key) {
  if (typeof node === "string") return node;
  const [tag, attributes, nodes] = node;
  if (!TAGS.has(tag)) return null;
  const inside = (nodes || []).map((one, at) => branch(one, at));
  if (tag === "a") return /^(https?:\/\/|mailto:)/i.test(attributes.href || "") ? html`<a href=${attributes.href} target="_blank" rel="noopener noreferrer">${inside}</a>` : html`<span>${inside}</span>`;
  if (tag === "pre") return html`<div class="code"><div class="code-head">${attributes.lang || ""}<${Copy} text=${() => textOf(nodes)} /></div><pre>${inside}</pre></div>`;
  if (tag === "table") return html`<div class="scroll-x"><table>${inside}</table></div>`;
  if (tag === "br" || tag === "hr") return html`<${tag} />`;
  const given = {};
  if (attributes.class) given.class = attributes.class;
  if (attributes.start) given.start = attributes.start;
  return html`<${tag} ...${given}>${inside}</${tag}>`;
}
const textOf = (nodes) => (nodes || []).map((node) => (typeof node === "string" ? node : textOf(node[2]))).join("");

export function Copy({ text, label = "Copy" }) {
  const [done, set] = useState(false);
  const copy = async () => {
    const value = await (typeof text === "function" ? text() : text);
    try { await navigator.clipboard.writeText(value); } catch { fallback(value); }
    set(true);
    setTimeout(() => set(false), 1200);
  };
  return html`<button class="copy" onClick=${copy}>${done ? "Copied" : label}</button>`;
}
function fallback(value) {
  const area = document.createElement("textarea");
  area.value = value;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** A long text, folded. */
export function Fold({ text, more, part, lines = 14 }) {
  const [open, set] = useState(false);
  const [rest, setRest] = useState(null);
  const shown = rest ?? text ?? "";
  const count = shown.split("\n").length;
  const long = count > lines || shown.length > 1600 || more;
  const unfold = async () => {
    if (more && rest == null) setRest(String((await ask(`part/${part}`)).value.text ?? ""));
    set(!open);
  };
  const cut = open || !long ? shown : shown.split("\n").slice(0, lines).join("\n").slice(0, 1600);
  return html`<pre class="text ${long && !open ? "cut" : ""}">${cut}</pre>${long && html`<button class="more" onClick=${unfold} aria-expanded=${open}>${open ? "Show less" : `Show all (${plural(count, "line")}, ${bytes((shown.length || 0) + (more || 0))})`}</button>`}`;
}

/** Indented JSON; other text is unchanged. */
export function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

/** Rows of equal height, of which only the visible ones are rendered. */
export function List({ rows, height, draw, chosen, onEnd, label }) {
  const box = useRef();
  const [view, set] = useState({ top: 0, height: 800 });
  const measure = () => { const at = box.current; if (at) set({ top: at.scrollTop, height: at.clientHeight }); };
  useLayoutEffect(() => { measure(); addEventListener("resize", measure); return () => removeEventListener("resize", measure); }, []);
  useEffect(() => {
    const at = box.current;
    if (chosen == null || !at) return;
    if (chosen * height < at.scrollTop) at.scrollTop = chosen * height;
    else if ((chosen + 1) * height > at.scrollTop + at.clientHeight) at.scrollTop = (chosen + 1) * height - at.clientHeight;
  }, [chosen]);
  const first = Math.max(0, Math.floor(view.top / height) - 8), last = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + 8);
  useEffect(() => { if (onEnd && last >= rows.length - 20) onEnd(); }, [last, rows.length]);
  return html`<div class="list" ref=${box} onScroll=${measure} role="list" aria-label=${label} tabindex="-1">
    <div style=${{ height: `${rows.length * height}px`, position: "relative" }}>
      ${rows.slice(first, last).map((row, n) => html`<div key=${row.id ?? row.session ?? first + n} class="slot" role="listitem" style=${{ top: `${(first + n) * height}px`, height: `${height}px` }}>${draw(row, first + n)}</div>`)}
    </div>
  </div>`;
}

// light and dark

function theme() {
  let chosen = "";
  try { chosen = localStorage.getItem("toolmend-theme") || ""; } catch { /* no storage */ }
  if (chosen) document.documentElement.dataset.theme = chosen;
  return { theme: chosen };
}
export function nextTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = store.state.theme || (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("toolmend-theme", next); } catch { /* no storage */ }
  store.set({ theme: next });
}
