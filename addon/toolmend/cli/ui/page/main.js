// The frame of all pages: access, the bar, the search, the hints at the bottom.
import { html, render, useState, useEffect, useRef, ask, connect, store, useStore, useRoute, go, Link, useKeys, hints, Busy, nextTheme } from "./base.js";
import { Sessions } from "./sessions.js";
import { Recordings } from "./recordings.js";
import { Session } from "./session.js";
import { Recording } from "./recording.js";
import { Prompts } from "./prompts.js";
import { Search } from "./search.js";

const PAGES = [["/", "Sessions", "1"], ["/recordings", "Requests", "2"], ["/suspects", "Suspects", "3"], ["/prompts", "Prompts", "4"]];

function App() {
  const locked = useStore((state) => state.locked), ready = useStore((state) => state.ready);
  if (locked) return html`<${Locked} />`;
  if (!ready) return html`<${Busy} />`;
  return html`<${Frame} />`;
}

function Locked() {
  return html`<div class="empty locked"><div class="empty-mark">⚿</div><h1>This page wants its token</h1>
    <p>Open the address that <code>toolmend ui</code> printed, with all that stands behind the <code>#</code>. It is new with each start.</p>
    <pre>toolmend ui</pre></div>`;
}

function Frame() {
  const { path, query } = useRoute();
  const [help, setHelp] = useState(false);
  const status = useStore((state) => state.status), connected = useStore((state) => state.connected), notifies = useStore((state) => state.notify);
  const count = useStore((state) => state.live.size);
  const search = useRef();
  useEffect(() => { document.title = `${count ? `(${count}) ` : ""}toolmend`; }, [count]);
  const keys = {
    "/": [() => { search.current.focus(); search.current.select(); }, "search"],
    "?": [() => setHelp(true), "keys"],
    d: [nextTheme, ""],
    g: [() => go("/"), ""],
    Escape: [() => (path === "/" ? false : history.length > 1 ? history.back() : go("/")), path === "/" ? "" : "back"],
    ...Object.fromEntries(PAGES.map(([to, , key]) => [key, [() => go(to), ""]])),
  };
  useKeys(keys, [path], true);
  const find = (event) => { event.preventDefault(); const text = search.current.value.trim(); if (text) { go(`/search?q=${encodeURIComponent(text)}`); search.current.blur(); } };
  const bell = async () => {
    if (notifies) { store.set({ notify: false }); return; }
    if ("Notification" in window && (await Notification.requestPermission()) === "granted") store.set({ notify: true });
  };
  const part = path.split("/")[1];
  let page;
  if (part === "" || part === "sessions") page = html`<${Sessions} query=${query} />`;
  else if (part === "recordings") page = html`<${Recordings} query=${query} />`;
  else if (part === "suspects") page = html`<${Recordings} query=${query} suspects=${true} />`;
  else if (part === "prompts") page = html`<${Prompts} query=${query} />`;
  else if (part === "search") page = html`<${Search} query=${query} />`;
  else if (part === "s") page = html`<${Session} key=${path} id=${decodeURIComponent(path.slice(3))} query=${query} />`;
  else page = html`<${Recording} key=${path} name=${decodeURIComponent(path.slice(3))} query=${query} />`;
  return html`
    <header class="top">
      <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector("main").focus(); }}>To the content</a>
      <${Link} to="/" class="brand" aria-label="toolmend, all sessions"><svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true"><rect width="32" height="32" rx="7" fill="var(--accent)"/><path d="M9 10h14M16 10v13" stroke="#fff" stroke-width="3.4" stroke-linecap="round"/></svg><b>toolmend</b><//>
      <nav aria-label="Pages">${PAGES.map(([to, word]) => html`<${Link} to=${to} class=${isAt(path, to) ? "on" : ""} aria-current=${isAt(path, to) ? "page" : null}>${word}<//>`)}</nav>
      <form class="find" role="search" onSubmit=${find}><input ref=${search} type="search" placeholder="Search everything" aria-label="Search everything that was asked and answered" defaultValue=${part === "search" ? query.get("q") : ""} /><kbd>/</kbd></form>
      <div class="tools">
        <span class="link ${connected ? "on" : ""}" title=${connected ? "Live: what happens is shown as it happens" : "Not connected: trying again"}><i></i>${connected ? "live" : "offline"}</span>
        ${"Notification" in window && html`<button class="icon" aria-pressed=${notifies} title=${notifies ? "Notifications are on" : "Notify me when an answer stalls, fails or is suspect"} onClick=${bell}><svg viewBox="0 0 20 20" width="15" height="15" aria-hidden="true" fill=${notifies ? "currentColor" : "none"} stroke="currentColor" stroke-width="1.6" stroke-linejoin="round"><path d="M10 2.5a5 5 0 0 0-5 5c0 4-1.5 5.5-2 6.5h14c-.5-1-2-2.5-2-6.5a5 5 0 0 0-5-5zM8.3 16.5a1.8 1.8 0 0 0 3.4 0"/></svg></button>`}
        <button class="icon" title="Light or dark (d)" aria-label="Light or dark" onClick=${nextTheme}>◐</button>
        <button class="icon" title="Keys (?)" aria-label="Keys" onClick=${() => setHelp(true)}>?</button>
      </div>
    </header>
    ${!connected && html`<div class="banner" role="status">The server is not there any more, or not yet. What is shown may be old; it goes on by itself when <code>toolmend ui</code> runs at this address again.</div>`}
    ${status && !status.ready && html`<div class="banner quiet" role="status">Reading the recordings for the first time: what is there is shown as it comes.</div>`}
    <main id="main" tabindex="-1">${page}</main>
    <${Hints} status=${status} />
    ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}

const isAt = (path, to) => (to === "/" ? path === "/" || path.startsWith("/s/") || path === "/sessions" : path === to || (to === "/recordings" && path.startsWith("/r/")));

function Hints({ status }) {
  useStore((state) => state.keys);
  return html`<footer class="hints"><span class="keys">${hints().map(([key, word]) => html`<span><kbd>${NAMES[key] || key}</kbd> ${word}</span>`)}</span>
    <span class="where" title=${status ? status.folder : ""}>${status ? status.folder : ""}</span></footer>`;
}
const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Enter: "⏎", Escape: "Esc" };

function Help({ close }) {
  const box = useRef();
  useEffect(() => { box.current.showModal(); }, []);
  const rows = [["/", "search everything"], ["1 2 3 4", "sessions, requests, suspects, prompts"], ["j k ↓ ↑", "next, previous"], ["Enter", "open"], ["Esc", "back"],
    ["[ ]", "previous, next request of the session"], ["f", "follow what is live"], ["m t", "conversation, time"], ["r", "reasoning: fold or show"], ["a d c h", "in a request: answer, difference, context, headers"], ["p", "pin"], ["d", "light or dark"], ["?", "this"]];
  return html`<dialog ref=${box} onClose=${close} onClick=${(event) => event.target === box.current && box.current.close()}>
    <h2>Keys</h2><dl class="help">${rows.map(([key, word]) => html`<dt>${key.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${word}</dd>`)}</dl>
    <button onClick=${() => box.current.close()}>Close</button></dialog>`;
}

async function begin() {
  const token = location.hash.slice(1);
  if (token) {
    const answer = await fetch("/api/open", { method: "POST", body: JSON.stringify({ token }) });
    history.replaceState(null, "", location.pathname + location.search);
    if (!answer.ok) { store.set({ locked: true }); return; }
  }
  try {
    const status = await ask("status");
    store.set({ status, ready: true, offset: status.now - Date.now() / 1000, locked: false });
    connect();
  } catch { store.set({ locked: true }); }
}

render(html`<${App} />`, document.getElementById("app"));
begin();
