// Tabs, keys, and the start.

function pick(tab, chosen) {
  const on = tab.dataset.name === chosen;
  tab.setAttribute("aria-selected", on);
  tab.tabIndex = on ? 0 : -1;
}

function tabs(bar, names, panel, take) {
  for (const [name, text] of Object.entries(names)) {
    const tab = el("button", { type: "button", role: "tab", id: "tab-" + name }, text);
    tab.setAttribute("aria-controls", panel);
    tab.dataset.name = name;
    tab.addEventListener("click", () => take(name));
    bar.append(tab);
  }
  bar.addEventListener("keydown", (key) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[key.key];
    if (!by) return;
    const all = [...bar.children];
    const next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
    next.focus();
    next.click();
    key.preventDefault();
  });
}

function view(name) {
  state.view = name;
  drawBytes();
  writeAddress();
}

function tab(name) {
  state.tab = name;
  drawAbout();
  writeAddress();
}

function theme() {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.style.colorScheme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.style.colorScheme = dark ? "light" : "dark";
  drawTime();
}

function keys() {
  if ($("keys").open) $("keys").close();
  else $("keys").showModal();
}

const ACTIONS = {
  ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
  PageDown: () => move(Math.max(1, Math.floor(list.clientHeight / ROW) - 1)), PageUp: () => move(-Math.max(1, Math.floor(list.clientHeight / ROW) - 1)),
  Home: () => shown.length && choose(shown[0].n), End: () => shown.length && choose(shown[shown.length - 1].n),
  n: () => difference(1), p: () => difference(-1),
  1: () => view("raw"), 2: () => view("mended"), 3: () => view("diff"),
  r: () => tab("rule"), c: () => tab("conversation"), q: () => tab("request"), h: () => tab("headers"), u: () => tab("usage"),
  "/": () => $("find").focus(), t: theme, "?": keys,
};
const MOVES = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"]; // keys that scroll in a scrollable pane

document.addEventListener("keydown", (key) => {
  if (key.ctrlKey || key.metaKey || key.altKey || key.isComposing) return;
  const at = document.activeElement;
  if (at === $("find") && (key.key === "Escape" || key.key === "Enter")) return list.focus();
  if (at === $("find") || at === $("only")) return;
  if ($("keys").open && key.key !== "?") return;
  if (MOVES.includes(key.key) && (at === $("bytes") || at === $("about"))) return;
  const action = Object.hasOwn(ACTIONS, key.key) && ACTIONS[key.key];
  if (action) {
    action();
    key.preventDefault();
  }
});

$("find").addEventListener("input", () => {
  state.find = $("find").value;
  list.scrollTop = 0;
  filter();
  writeAddress();
});
$("only").addEventListener("change", () => {
  state.only = $("only").value;
  list.scrollTop = 0;
  filter();
  writeAddress();
});
$("theme").addEventListener("click", theme);
$("help").addEventListener("click", keys);
$("keys").append(
  el("h2", {}, "Keys"),
  el("table", {}, el("tbody", {}, ...KEYS.map(([key, text]) => el("tr", {}, el("th", {}, ...key.split(" ").flatMap((one) => [one === "or" ? " or " : el("kbd", {}, one), " "])), el("td", {}, text))))),
  el("form", { method: "dialog" }, el("p", {}, el("button", {}, "Close"))),
);
window.addEventListener("hashchange", start);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTime);
new ResizeObserver(() => {
  drawTime();
  drawRows();
}).observe(document.body);

function start() {
  readAddress();
  $("only").value = state.only;
  if (!$("only").value) $("only").value = state.only = "all";
  $("find").value = state.find;
  filter();
  list.scrollTop = Math.max(0, position() * ROW - list.clientHeight / 2);
  choose(state.event);
  drawAbout();
}

head();
filters();
tabs($("views"), VIEWS, "bytes", view);
tabs($("tabs"), TABS, "about", tab);
state.event = (events.find((event) => event.by) || events.find(differs) || { n: 1 }).n; // the first mended event
if (events.length && !events.some(differs)) state.tab = "conversation"; // nothing was mended: show the answer
start();
if (innerWidth > 800) list.focus({ preventScroll: true });
