// The parts of a conversation: texts, reasoning, calls with their results, answers, and an answer in progress.
import { html, useState, useRef, useEffect, Tree, Fold, Chip, Copy, Clock, Link, pretty, time, tokens, bytes, money, plural, usePieces, stateWord, number } from "./base.js";
import { Lines } from "./prompts.js";
import { doingWord } from "./sessions.js";

const ROLES = { user: "User", assistant: "Assistant", system: "System", tool: "Tool", developer: "System" };

/** Images of a part, each loaded when it becomes visible. */
const Pictures = ({ part }) => (part.images || []).map((key) => html`<a href=${`/api/part/${part.part}/image/${key}`} target="_blank" rel="noopener"><img class="picture" loading="lazy" src=${`/api/part/${part.part}/image/${key}`} alt="An image of this request" /></a>`);

export function Part({ part, quiet }) {
  const [open, set] = useState(false);
  if (part.kind === "tools") return html`<details class="part system"><summary><span class="who">Tools</span> <span class="dim">${plural(part.names.length, "tool")}, ${bytes(part.size)}: ${part.names.slice(0, 12).join(", ")}${part.names.length > 12 ? " …" : ""}</span></summary><p class="names">${part.names.map((name) => html`<${Chip} tone="call">${name}<//>`)}</p></details>`;
  const injected = part.role === "user" && /^\s*<(system-reminder|environment_context|user_instructions|command-|local-command-)/.test(part.text || "");
  if (part.role === "system" || injected) return html`<details class="part system" open=${open} onToggle=${(event) => set(event.target.open)}><summary><span class="who">${injected ? "Reminder" : "System"}</span> <span class="dim">${bytes(part.size)}: ${(part.text || "").replace(/\s+/g, " ").slice(0, 150)}</span></summary>${open && html`<${Fold} text=${part.text} more=${part.more} part=${part.part} lines=${40} />`}</details>`;
  if (part.kind === "thinking") return html`<${Thought} text=${part.text} />`;
  if (part.kind === "call") return html`<${Call} call=${{ id: part.id, name: part.name, arguments: part.text }} />`;
  if (part.kind === "result") return html`<div class="part result ${part.error ? "error" : ""}"><div class="who">Result${part.name ? ` of ${part.name}` : ""}</div><${Fold} text=${part.text} more=${part.more} part=${part.part} lines=${8} /><${Pictures} part=${part} /></div>`;
  return html`<div class="part ${part.role} ${quiet ? "quiet-part" : ""}"><div class="who">${ROLES[part.role] || part.role}</div>${part.tree ? html`<div class="prose"><${Tree} nodes=${part.tree} /></div>` : html`<${Fold} text=${part.text} more=${part.more} part=${part.part} lines=${30} />`}<${Pictures} part=${part} /></div>`;
}

export function Thought({ text, live, show }) {
  const [open, set] = useState(!!show);
  useEffect(() => set(!!show), [show]);
  if (!text) return null;
  return html`<details class="part thought" open=${open || live} onToggle=${(event) => set(event.target.open)}><summary><span class="who">Reasoning</span> <span class="dim">${bytes(text.length)}${open || live ? "" : `: ${text.replace(/\s+/g, " ").slice(0, 140)}`}</span></summary><pre class="text">${live ? text.slice(-3000) : text}</pre></details>`;
}

/** A call, with its result. */
export function Call({ call, result, took, lane, error }) {
  let given = null;
  try { given = JSON.parse(call.arguments || "{}"); } catch { /* incomplete, or not JSON */ }
  const object = given && typeof given === "object" && !Array.isArray(given) ? given : null;
  return html`<div class="part call ${result?.error ? "error" : ""}">
    <div class="call-head"><span class="who mono">${call.name}</span><span class="brief">${brief(object)}</span>${took != null && html`<span class="dim num" title="From the end of this answer to the request that brings the result">${time(took)}</span>`}${lane && html`<${Link} to=${lane} class="small">subagent →<//>`}</div>
    ${object && typeof object.old_string === "string" && typeof object.new_string === "string" ? html`<${Lines} lines=${[...object.old_string.split("\n").map((one) => ["-", one]), ...object.new_string.split("\n").map((one) => ["+", one])]} />`
    : object && typeof object.command === "string" ? html`<pre class="text shell">$ ${object.command}</pre>`
    : html`<${Fold} text=${pretty(call.arguments || "")} lines=${6} />`}
    ${result && html`<div class="came ${result.error ? "error" : ""}"><${Fold} text=${result.text || "(nothing)"} more=${result.more} part=${result.part} lines=${8} /><${Pictures} part=${result} /></div>`}
  </div>`;
}
function brief(given) {
  if (!given) return "";
  for (const name of ["file_path", "path", "description", "pattern", "query", "url", "command", "prompt"]) if (typeof given[name] === "string") return given[name].replace(/\s+/g, " ").slice(0, 120);
  return "";
}

export function Answer({ answer, row, results, lanes, showThoughts, plain }) {
  if (!answer) return html`<${NoAnswer} row=${row} />`;
  const end = row.at + ((row.wait || 0) + (row.last || 0)) / 1000;
  return html`<div class="answer">
    <${Thought} text=${answer.reasoning} show=${showThoughts} />
    ${(answer.text || answer.refusal) && html`<div class="part assistant"><div class="who">Assistant${answer.text ? html`<${Copy} text=${answer.text} />` : null}</div><div class="prose">${plain ? html`<pre class="text">${answer.text}</pre>` : html`<${Tree} nodes=${answer.tree} />`}${answer.refusal && html`<p class="bad-text">${answer.refusal}</p>`}${answer.more ? html`<p class="dim">… ${number(answer.more)} characters more: open the request</p>` : null}</div></div>`}
    ${answer.calls.map((call) => { const found = results?.get(call.id); return html`<${Call} key=${call.id} call=${call} result=${found} took=${found?.asked != null ? Math.max(0, (found.asked - end) * 1000) : null} lane=${lanes?.(call)} />`; })}
    ${answer.error && html`<div class="part error-part"><div class="who">Error of the provider</div><pre class="text">${answer.error.type}: ${answer.error.message}</pre></div>`}
    ${row.state !== "complete" && !row.live && html`<${NoAnswer} row=${row} />`}
  </div>`;
}

export function NoAnswer({ row }) {
  if (row.live) return null;
  const words = row.state === "unanswered" ? html`<b>No answer came.</b> ${row.error}` : row.state === "waiting" || row.state === "partial" ? html`<b>The recording ends here:</b> the proxy ended while this was written.` : row.state === "complete" ? html`<b>The answer is empty.</b>` : html`<b>${stateWord(row)}.</b> ${row.error}`;
  return html`<div class="part error-part"><p>${words}</p></div>`;
}

/** An answer in progress. */
export function Growing({ row }) {
  const pieces = usePieces(row.id, true) || [];
  return html`<div class="answer growing">
    ${pieces.map(([kind, text], n) => {
      const last = n === pieces.length - 1;
      if (kind === "reasoning") return html`<${Thought} key=${n} text=${text} live=${last} />`;
      if (kind === "text") return html`<div key=${n} class="part assistant"><div class="who">Assistant</div><div class="streamed">${text}${last && html`<i class="cursor"></i>`}</div></div>`;
      if (kind === "call") return html`<div key=${n} class="part call"><div class="call-head"><span class="who mono">${text}</span></div><pre class="text">${pieces[n + 1]?.[0] === "arguments" ? pieces[n + 1][1].slice(-4000) : ""}${n >= pieces.length - 2 && html`<i class="cursor"></i>`}</pre></div>`;
      return null;
    })}
    <div class="now"><span class="doing">${doingWord(row)}</span><${Clock} row=${row} />${row.bytes ? html`<span class="dim num">${bytes(row.bytes)}</span>` : null}</div>
  </div>`;
}

/** The facts next to an answer. */
export function Facts({ row, miss }) {
  const cached = row.tokens_in ? Math.round((100 * (row.cached || 0)) / row.tokens_in) : null;
  const rate = row.tokens_out && row.last > 500 ? row.tokens_out / (row.last / 1000) : null;
  return html`<aside class="facts">
    <${Link} to=${`/r/${row.name}`} class="open" title="This request">${row.model} ›<//>
    <dl>
      <dt>first byte</dt><dd class=${row.wait > 15000 ? "warn-text" : ""}>${row.wait != null ? time(row.wait) : row.waited != null ? html`<span class="bad-text">none in ${time(row.waited, 0)}</span>` : "—"}</dd>
      ${row.last != null && html`<dt>streamed</dt><dd>${time(row.last)}${rate ? `, ${rate.toFixed(rate < 10 ? 1 : 0)} tok/s` : ""}</dd>`}
      ${row.gap > 3000 && html`<dt>longest gap</dt><dd class=${row.gap > 15000 ? "bad-text" : "warn-text"}>${time(row.gap)}</dd>`}
      ${row.tokens_in != null && html`<dt>in</dt><dd>${tokens(row.tokens_in)}${cached != null ? html`<span class="meter" title=${`${number(row.cached || 0)} of ${number(row.tokens_in)} tokens came from the cache; ${number(row.cache_write || 0)} were written to it`}><i style=${{ width: `${cached}%` }}></i></span>${cached} %` : ""}</dd><dt>out</dt><dd>${tokens(row.tokens_out)}</dd>`}
      ${row.cost != null && html`<dt>cost</dt><dd>${money(row.cost)}</dd>`}
    </dl>
    ${miss && html`<p class="miss" title="Less was read from the cache than the request before had left there">cache missed: ${miss}</p>`}
    <div class="chips">${row.rules ? row.rules.split(" ").map((rule) => html`<${Link} to=${`/r/${row.name}?tab=why`} class="chip mended" title="See what was mended, and why">${rule}<//>`) : null}${row.suspect ? html`<${Link} to=${`/r/${row.name}`} class="chip warn" title=${row.suspect}>suspect<//>` : null}</div>
  </aside>`;
}
