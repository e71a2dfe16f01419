// Details of an event and of the recording, in tabs.

function link(n) {
  const made = el("button", { type: "button", className: "link" }, "event " + number(n));
  made.addEventListener("click", () => choose(n));
  return made;
}

function table(pairs) {
  return el("table", {}, el("tbody", {}, ...pairs.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)))));
}

const about = {
  rule(pane) {
    const event = events[state.event - 1];
    if (event) {
      const by = event.by && data.rules.find((rule) => rule.name === event.by[0]);
      pane.append(el("h2", {}, by ? by.name : KINDS[event.kind][0]), el("p", {}, KINDS[event.kind][1]));
      if (event.until) pane.append(el("p", {}, "What went out for it stands at ", link(event.until), "."));
      else if (event.kind === "held") pane.append(el("p", {}, "Nothing went out for it later, either."));
      if (by) {
        pane.append(el("p", {}, by.what), el("p", { className: "quiet" }, "Why: " + by.why));
        if (event.by[1] !== event.n) pane.append(el("p", {}, "It fired at ", link(event.by[1]), "."));
      } else if (event.until && events[event.until - 1].kind === "released") pane.append(el("p", {}, "It looked as if something began that is to be mended, and was none."));
      else if (event.kind === "changed" || event.kind === "held") pane.append(el("p", { className: "quiet" }, "No rule fired near it."));
      const others = event.rules.filter((name) => !by || name !== by.name);
      for (const name of others) {
        const rule = data.rules.find((one) => one.name === name);
        pane.append(el("h2", {}, name), el("p", {}, rule.what), el("p", { className: "quiet" }, "Why: " + rule.why));
      }
    }
    pane.append(el("h2", {}, "Rules in this recording"));
    pane.append(
      data.rules.length
        ? el(
            "ul",
            { className: "rules" },
            ...data.rules.map((rule) =>
              el("li", {}, el("b", {}, rule.name), ": ", rule.what, " ", ...rule.events.slice(0, 12).flatMap((n, at) => [at ? ", " : "", link(n)]), rule.events.length > 12 ? `, and ${number(rule.events.length - 12)} more` : ""),
            ),
          )
        : el("p", {}, "None fired."),
    );
    if (data.suspects.length) {
      pane.append(el("h2", {}, "Suspected: it looks like a call, and was not made one"));
      for (const suspect of data.suspects) pane.append(el("pre", {}, suspect.text || ""), el("p", {}, suspect.why || ""), el("p", { className: "quiet" }, "Mend it: " + suspect.remedy));
    }
  },
  conversation(pane) {
    if (!data.request) pane.append(el("p", { className: "quiet" }, "The request was not kept: it was no JSON."));
    else for (const turn of data.request.turns) pane.append(el("h2", {}, turn.name ? `${turn.role} (${turn.name})` : turn.role), ...turn.parts.map(part));
    const same = JSON.stringify(data.answer.raw) === JSON.stringify(data.answer.mended);
    pane.append(el("h2", {}, same ? "answer" : "answer, mended"), ...answer(data.answer.mended));
    if (!same) pane.append(el("h2", {}, "answer, as the upstream said it"), ...answer(data.answer.raw));
  },
  request(pane) {
    for (const [title, request] of [["As the client sent it", data.request], ["As it was forwarded", data.forwarded]]) {
      if (!request) continue;
      if (data.forwarded) pane.append(el("h2", {}, title));
      pane.append(...request.notes.map((note) => el("p", { className: "quiet" }, note)));
      pane.append(table(Object.entries(request.fields).map(([name, value]) => [name, el("pre", {}, value)])));
      pane.append(el("h2", {}, plural(request.tools.length, "tool")), ...request.tools.map(tool));
    }
    if (!data.request && !data.forwarded) pane.append(el("p", { className: "quiet" }, "The request was not kept: it was no JSON."));
  },
  headers(pane) {
    pane.append(el("h2", {}, `Request: ${data.method} ${data.path} ${data.http_version}`), table(data.headers.request));
    pane.append(el("h2", {}, `Response: ${data.status}`), table(data.headers.response));
    const told = [["state", data.state], ["folder", data.folder], ["route", data.route || ""], ["toolmend", data.toolmend], ...Object.entries(data.settings)];
    pane.append(el("h2", {}, "Recording"), table(told.filter(([, value]) => value)));
  },
  usage(pane) {
    const { raw, mended } = data.answer;
    const names = Object.keys({ ...raw?.usage, ...mended?.usage });
    const counts = names.map((name) => [name.replaceAll("_", " "), ...[raw, mended].map((told) => (told?.usage ? number(told.usage[name]) : ""))]);
    counts.push(["finish reason", raw?.finish_reason || "", mended?.finish_reason || ""]);
    const cells = (tag, row) => el("tr", {}, ...row.map((cell, at) => el(at && tag === "td" ? "td" : "th", { scope: at ? "col" : "row" }, cell)));
    pane.append(el("h2", {}, "Tokens"), el("table", {}, el("thead", {}, cells("th", ["", "from the upstream", "to the client"])), el("tbody", {}, ...counts.map((row) => cells("td", row)))));
    const times = data.times;
    const told = [
      ["request to first byte", times.wait], ["first byte to first token", times.first_token], ["first byte to last byte", times.last], ["longest gap", times.longest_gap],
    ];
    pane.append(el("h2", {}, "Time"), table(told.filter(([, ms]) => ms !== null).map(([name, ms]) => [name, seconds(ms)])));
    const more = [["chunks", number(data.chunks.length)], ["events", number(events.length)], ["bytes from the upstream", number(data.bytes.raw)], ["bytes to the client", number(data.bytes.mended)]];
    if (times.tokens_per_second) more.unshift(["tokens a second", number(times.tokens_per_second)]);
    pane.append(el("h2", {}, "Size"), table(more));
  },
};

function part(told) {
  const name = [told.kind === "text" ? "" : told.kind, told.name || "", told.id || "", told.error ? "error" : ""].filter(Boolean).join(" · ");
  const box = el("div", { className: "part " + told.kind + (told.error ? " error" : "") });
  if (told.text.length > FOLD) {
    const line = told.text.slice(0, 120).replace(/\s+/g, " ");
    const fold = el("details", {}, el("summary", {}, el("b", {}, name ? name + ": " : ""), `${line}… (${number(told.text.length)} characters)`));
    fold.addEventListener("toggle", () => fold.open && fold.children.length === 1 && fold.append(el("pre", {}, told.text)));
    box.append(fold);
  } else box.append(name ? el("b", {}, name) : "", el("pre", {}, told.text || "(empty)"));
  return box;
}

function answer(told) {
  if (!told) return [el("p", { className: "quiet" }, "Nothing of it is understood.")];
  const parts = [told.reasoning && { kind: "reasoning", text: told.reasoning }, told.text && { kind: "text", text: told.text }, told.refusal && { kind: "refusal", text: told.refusal }];
  parts.push(...told.tool_calls.map((call) => ({ kind: "call", name: call.name, id: call.id, text: call.arguments, error: !call.complete })));
  if (told.error) parts.push({ kind: "error", text: `${told.error.type}: ${told.error.message}` });
  const end = told.finish_reason ? `finish reason: ${told.finish_reason}` : told.ended ? "ended" : "broken off";
  return [...parts.filter(Boolean).map(part), el("p", { className: "quiet" }, end)];
}

function tool(told) {
  return el("details", { className: "part" }, el("summary", {}, el("b", {}, told.name), told.kind === "function" ? "" : ` (${told.kind})`, " ", el("span", { className: "quiet" }, told.description.slice(0, 90))), el("p", {}, told.description), el("pre", {}, told.schema));
}

function drawAbout() {
  const pane = $("about");
  pane.replaceChildren();
  pane.scrollTop = 0;
  for (const tab of $("tabs").children) pick(tab, state.tab);
  about[state.tab](pane);
}
