"use strict";
// Recorded text enters the page only as text (textContent), never as markup. Long content is rendered when it becomes visible: only
// the visible rows of the list, only the open tab.

const data = JSON.parse(document.getElementById("data").textContent);
const events = data.events;
const $ = (id) => document.getElementById(id);

const ROW = 28; // pixels, as in the style
const MAX_SHOWN = 60000; // characters of an event that are shown
const MAX_LINES = 600; // lines of a side that are compared: the cost is their product
const FOLD = 600; // characters from which a part is folded

const KINDS = {
  same: ["as it came", "The client got the same bytes."],
  held: ["held back", "Nothing went out for it at once."],
  released: ["let go", "What had been held back went out as it came: there was nothing to mend."],
  changed: ["changed", "The client got something else."],
  added: ["added", "Nothing came here, and something went out."],
  translated: ["translated", "What the client got for it, in its own API."],
  silent: ["nothing to send", "The client's API has nothing to say for it."],
};
const VIEWS = { raw: "Raw", mended: "Mended", diff: "Diff" };
const TABS = { rule: "Rule", conversation: "Conversation", request: "Request", headers: "Headers", usage: "Usage" };
const KEYS = [
  ["↓ ↑ or j k", "next and previous event"],
  ["n p", "next and previous difference"],
  ["Home End", "first and last event"],
  ["1 2 3", "Raw, Mended, Diff"],
  ["r c q h u", "Rule, Conversation, Request, Headers, Usage"],
  ["/", "find in events"],
  ["t", "dark or light"],
  ["?", "these keys"],
];

const state = { event: 1, view: "diff", tab: "rule", only: "all", find: "" };
let shown = events; // those that pass the filters

function el(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name in made && name !== "role") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const number = (value) => value.toLocaleString("en-US");
const precise = (ms) => (ms >= 1000 ? (ms / 1000).toFixed(3) + " s" : seconds(ms)); // so that events differ
const seconds = (ms) => (ms >= 10000 ? (ms / 1000).toFixed(1) + " s" : ms >= 1000 ? (ms / 1000).toFixed(2) + " s" : ms.toFixed(ms < 10 ? 1 : 0) + " ms");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
const sent = (event) => (event.sent === null ? event.raw : event.sent);
const differs = (event) => !["same", "silent", "translated"].includes(event.kind) || event.rules.length > 0;
const ruleOf = (event) => (event.by ? event.by[0] : "");

// the address: the selection is part of it, so that it can be linked

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const event = Number(given.get("event"));
  if (Number.isInteger(event) && event >= 1 && event <= events.length) state.event = event;
  if (Object.hasOwn(VIEWS, given.get("view"))) state.view = given.get("view");
  if (Object.hasOwn(TABS, given.get("tab"))) state.tab = given.get("tab");
  state.only = given.get("only") || "all";
  state.find = given.get("find") || "";
}

function writeAddress() {
  const told = new URLSearchParams();
  if (events.length) told.set("event", state.event);
  told.set("view", state.view);
  told.set("tab", state.tab);
  if (state.only !== "all") told.set("only", state.only);
  if (state.find) told.set("find", state.find);
  history.replaceState(null, "", "#" + told);
}

// the head

function head() {
  const facts = [
    ["", [data.agent, data.model].filter(Boolean).join(" → ")],
    ["", data.method + " " + data.host + data.path],
    ["status ", String(data.status || "?")],
    ["", data.api === data.client_api ? data.api : `${data.api} for ${data.client_api}`],
    ["recorded ", data.recorded_at ? data.recorded_at.replace("T", " ").replace(/\.\d+/, "").replace("+00:00", " UTC") : ""],
    ["first byte after ", data.times.wait === null ? "" : seconds(data.times.wait)],
    ["first token after ", data.times.first_token === null ? "" : seconds((data.times.wait || 0) + data.times.first_token)],
    ["all in ", seconds(data.times.last)],
    ["", plural(data.chunks.length, "chunk") + ", " + plural(data.bytes.raw, "byte")],
  ];
  $("facts").append(...facts.filter(([, value]) => value).map(([name, value]) => el("span", {}, name, el("b", {}, value))));
  $("notices").append(...data.notices.map((notice) => el("li", {}, notice)));
  const kinds = Object.keys(KINDS).filter((kind) => events.some((event) => event.kind === kind));
  $("legend").append(...kinds.map((kind) => el("span", { className: "kind " + kind }, KINDS[kind][0])));
}
