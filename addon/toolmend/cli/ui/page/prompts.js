// Versions of system prompts and tool lists, and what changed between them.
import { html, useState, ask, useAsked, useKeys, Empty, Failed, Busy, ago, full, bytes, plural, Chip, Copy, go, withQuery } from "./base.js";

export function Prompts({ query }) {
  const { value, error, again } = useAsked(() => ask("prompts"), []);
  const all = value?.prompts || [];
  const chosen = +(query.get("part") || all[0]?.part || 0), at = Math.max(0, all.findIndex((one) => one.part === chosen));
  const move = (by) => () => { const next = all[Math.max(0, Math.min(all.length - 1, at + by))]; if (next) go(withQuery({ part: next.part }), true); };
  useKeys({ j: [move(1), "next"], k: [move(-1), "previous"], ArrowDown: [move(1), ""], ArrowUp: [move(-1), ""] }, [at, all]);
  if (error) return html`<${Failed} error=${error} again=${again} />`;
  if (!value) return html`<${Busy} />`;
  if (!all.length) return html`<${Empty} title="No prompt yet"><p>System prompts and lists of tools are collected here from all requests, once each.</p><//>`;
  const one = all[at];
  const before = all.find((other, n) => n > at && other.kind === one.kind && other.agents === one.agents && (one.kind === "tools" || other.head.slice(0, 24) === one.head.slice(0, 24)));
  return html`<div class="split"><div class="side scroll" role="list">${all.map((prompt, n) => html`<button role="listitem" class="version ${n === at ? "chosen" : ""}" onClick=${() => go(withQuery({ part: prompt.part }), true)}>
      <span><${Chip} tone=${prompt.kind === "tools" ? "call" : ""}>${prompt.kind === "tools" ? "tools" : "system"}<//><b>${prompt.agents || "unknown agent"}</b><span class="dim">${bytes(prompt.size)}</span></span>
      <span class="head-text">${prompt.head}</span><span class="dim">${plural(prompt.uses, "request")} · ${ago(prompt.first) === ago(prompt.latest) ? ago(prompt.latest) : `${ago(prompt.first)} to ${ago(prompt.latest)}`}</span></button>`)}</div>
    <div class="detail scroll"><${Version} key=${one.part} one=${one} before=${before} /></div></div>`;
}

function Version({ one, before }) {
  const [compare, set] = useState(!!before);
  const { value, error } = useAsked(() => ask(`part/${one.part}${before ? `/${before.part}` : ""}`), [one.part, before?.part]);
  if (error) return html`<${Failed} error=${error} />`;
  if (!value) return html`<${Busy} />`;
  const tools = value.value.tools;
  return html`<div class="detail-head"><h1>${one.kind === "tools" ? plural(tools.length, "tool") : "System prompt"}</h1><span class="dim">${one.models} · since ${full(one.first)}</span>
      ${before && html`<div class="segments"><button aria-pressed=${compare} onClick=${() => set(true)}>What changed</button><button aria-pressed=${!compare} onClick=${() => set(false)}>All of it</button></div>`}
      <${Copy} text=${() => (tools ? JSON.stringify(tools, null, 2) : value.value.text)} /></div>
    ${compare && value.lines ? html`<${Lines} lines=${value.lines} />` : tools ? tools.map((tool) => html`<details class="tool"><summary><b class="mono">${tool.name}</b> <span class="dim">${(tool.description || "").slice(0, 140)}</span></summary><pre class="text">${tool.description}</pre><pre class="text">${tool.schema}</pre></details>`) : html`<pre class="text">${value.value.text}</pre>`}`;
}

export function Lines({ lines }) {
  if (!lines.length) return html`<p class="dim pad">No difference.</p>`;
  return html`<div class="lines">${lines.map(([mark, text]) => html`<div class="line ${{ "+": "in", "-": "out", "@": "at" }[mark] || ""}"><i>${mark === "@" ? "" : mark}</i><span>${text}</span></div>`)}</div>`;
}
