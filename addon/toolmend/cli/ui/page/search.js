// The search in all requests and answers.
import { html, useState, useEffect, ask, useAsked, go, Link, useKeys, Empty, Failed, Busy, ago, full, plural, Chip } from "./base.js";

const KINDS = { answer: "answer", text: "text", result: "tool result", call: "tool call", thinking: "reasoning", tools: "tools", file: "file" };

export function Search({ query }) {
  const text = query.get("q") || "";
  const { value, error, busy, again } = useAsked(() => ask("search", { q: text }), [text]);
  const [chosen, choose] = useState(0);
  useEffect(() => choose(0), [text]);
  const hits = value?.hits || [];
  const at = Math.min(chosen, Math.max(0, hits.length - 1));
  const move = (by) => () => { const next = Math.max(0, Math.min(hits.length - 1, at + by)); choose(next); document.querySelectorAll(".hit")[next]?.scrollIntoView({ block: "nearest" }); };
  useKeys({ j: [move(1), "next"], k: [move(-1), "previous"], ArrowDown: [move(1), ""], ArrowUp: [move(-1), ""], Enter: [() => hits[at] && go(`/r/${hits[at].name}`), "open"] }, [at, hits]);
  if (error) return html`<${Failed} error=${error} again=${again} />`;
  if (busy || !value) return html`<${Busy} />`;
  if (!hits.length) return html`<${Empty} title=${`“${text}” was not found`}><p>${value.reading ? `${plural(value.reading, "recording")} are still being read.` : "Searched: requests, answers, tools and system prompts of all recordings here."}</p><//>`;
  return html`<div class="page scroll"><h1 class="quiet-title">${hits.length >= 60 ? "The latest 60 places" : plural(hits.length, "place")} with “${text}”</h1>
    ${hits.map((hit, n) => html`<${Link} key=${hit.part} to=${`/r/${hit.name}`} class="hit ${n === at ? "chosen" : ""}">
      <span class="hit-head"><${Chip}>${hit.role === "system" ? "system" : KINDS[hit.kind] || hit.kind}<//><b>${hit.title || hit.model}</b><span class="dim">${hit.agent} · ${hit.model}${hit.sub ? " · subagent" : ""}</span><span class="dim when" title=${full(hit.at)}>${ago(hit.at)}</span></span>
      <span class="around">…${hit.around[0]}<mark>${hit.around[1]}</mark>${hit.around[2]}…</span><//>`)}</div>`;
}
