"""The strict reader of OpenAI Responses: what a client makes of an answer, and what the strictest would refuse.

    created → in_progress → { output_item.added → parts → output_item.done }* → completed | incomplete | failed

`error` is the last event, wherever it comes. One item is open at a time, and one part of it.

Rule of this file: it shares no code with toolmend.
"""

import json
from typing import Any

from tests.support.answers import Answer, Call, events, is_count, is_object

REQUIRED = ("id", "object", "created_at", "status", "model", "output", "parallel_tool_calls", "tool_choice", "tools")
"""The fields of a response object that a client may rely on."""

COUNTS = ("input_tokens", "output_tokens", "total_tokens")
DETAILS = (("input_tokens_details", "cached_tokens"), ("input_tokens_details", "cache_write_tokens"), ("output_tokens_details", "reasoning_tokens"))
REASONS = frozenset({"max_output_tokens", "content_filter"})
TERMINAL = ("completed", "incomplete", "failed")

ITEMS: dict[str, dict[str, Any]] = {
    "message": {"role": "assistant", "content": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
    "reasoning": {"summary": []},
    "tool_search_call": {"arguments": {}, "execution": "client"},
    "web_search_call": {},
    "compaction": {"encrypted_content": ""},
}
"""What an item begins with, by its type."""

PARTS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "output_text": ("message", "content", "text", {"text": "", "annotations": []}),
    "refusal": ("message", "content", "refusal", {"refusal": ""}),
    "reasoning_text": ("reasoning", "content", "text", {"text": ""}),
    "summary_text": ("reasoning", "summary", "text", {"text": ""}),
}
"""Of a part: the item it belongs to, the member it stands in, the member with its text, what it begins with."""

DELTAS = {
    "response.output_text": ("output_text", "text"),
    "response.refusal": ("refusal", "refusal"),
    "response.reasoning_text": ("reasoning_text", "text"),
    "response.reasoning_summary_text": ("summary_text", "text"),
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
"""`.delta` and `.done` events: the part, or for calls the item, that they belong to; the member of `.done` with the whole."""


def read(body: bytes) -> Answer:
    """Folds a stream, and notes every fault."""
    reader = _Reader()
    for name, data in events(reader.answer, body):
        reader.take(name, data)
    reader.end()
    return reader.answer


def whole(body: bytes) -> Answer:
    """A whole response, or the body of an error."""
    answer = Answer()
    response = json.loads(body)
    if set(response) == {"error"}:
        answer.error = response["error"]
        fields = {"message", "type", "param", "code"}
        answer.check(isinstance(answer.error, dict) and set(answer.error) == fields, f"an error that says {answer.error}")
        return answer
    status = response.get("status")
    answer.check(status in TERMINAL, f"status {status!r}")
    _response(answer, response, str(status))
    for item in response.get("output") or ():
        _item(answer, item)
    _stop(answer, response, str(status))
    return answer


class _Reader:
    """One stream: the item that is open, the part of it that is open, the pieces of what is being said."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.number = 0
        self.state = "begin"  # then: created, in_progress, over
        self.first: dict[str, Any] = {}
        self.done: list[dict[str, Any]] = []
        self.item: dict[str, Any] | None = None
        self.part: dict[str, Any] | None = None
        self.pieces: list[str] = []
        self.said: str | None = None  # what a `.done` event told of the open part or call

    def take(self, name: str, data: dict[str, Any]) -> None:
        check = self.answer.check
        check(self.state != "over", f"{name} behind the end")
        check(data.get("sequence_number") == self.number, f"sequence_number {data.get('sequence_number')} where {self.number} is next")
        self.number += 1
        begins = {"response.created": "begin", "response.in_progress": "created"}
        if name != "error":
            check(self.state in ("over", begins.get(name, "in_progress")), f"{name} at {self.state}")
        stem, _, last = name.rpartition(".")
        if stem in DELTAS and last in ("delta", "done"):
            self._text(stem, last, data)
            return
        take = getattr(self, "_" + name.replace(".", "_"), None)
        if check(take, f"unknown event {name}"):
            assert take
            take(data)

    def end(self) -> None:
        self.answer.check(self.state == "over", "no completed, incomplete, failed or error")

    # the response

    def _response_created(self, data: dict[str, Any]) -> None:
        self.state = "created"
        self.first = data.get("response") or {}
        _response(self.answer, self.first, "in_progress")
        self.answer.check(self.first.get("output") == [], "response.created: output that is not []")

    def _response_in_progress(self, data: dict[str, Any]) -> None:
        self.state = "in_progress"
        self.answer.check(data.get("response") == self.first, "response.in_progress: another response than created")

    def _response_completed(self, data: dict[str, Any]) -> None:
        self._terminal(data, "completed")

    def _response_incomplete(self, data: dict[str, Any]) -> None:
        self._terminal(data, "incomplete")

    def _response_failed(self, data: dict[str, Any]) -> None:
        self._terminal(data, "failed")

    def _terminal(self, data: dict[str, Any], status: str) -> None:
        check = self.answer.check
        response = data.get("response") or {}
        self.state = "over"
        if self.item is not None and status == "failed":
            self._abandon()
        check(self.item is None, f"response.{status} while an item is open")
        _response(self.answer, response, status)
        for member in ("id", "model", "created_at"):
            check(response.get(member) == self.first.get(member), f"response.{status}: another {member} than at created")
        check(status == "failed" or response.get("output") == self.done, f"response.{status}: output that is not the items")
        _stop(self.answer, response, status)

    def _error(self, data: dict[str, Any]) -> None:
        self.state = "over"
        if self.item is not None:
            self._abandon()
        self.answer.stop_reason = "error"
        self.answer.error = {member: data.get(member) for member in ("code", "message", "param")}
        self.answer.check(set(data) == {"type", "sequence_number", "code", "message", "param"}, f"an error that says {data}")
        self.answer.check(isinstance(data.get("message"), str) and data["message"], f"error: message {data.get('message')!r}")

    # items

    def _response_output_item_added(self, data: dict[str, Any]) -> None:
        check = self.answer.check
        check(self.item is None, f"item {data.get('output_index')} begins inside another")
        check(data.get("output_index") == len(self.done), f"item {data.get('output_index')} where {len(self.done)} is next")
        self.item = data.get("item") or {}
        self.part, self.pieces, self.said = None, [], None
        kind = str(self.item.get("type"))
        if not check(kind in ITEMS, f"unknown item {kind}"):
            return
        for member, empty in ITEMS[kind].items():
            check(self.item.get(member) == empty, f"a {kind} item that begins with {member} {self.item.get(member)!r}")
        check(kind in ("reasoning", "compaction") or self.item.get("status") == "in_progress", f"a {kind} item begins {self.item.get('status')}")
        check(self.item.get("id") and isinstance(self.item["id"], str), f"an item without id: {self.item}")
        check(self.item.get("id") not in [item.get("id") for item in self.done], f"the id of another item: {self.item.get('id')}")

    def _response_output_item_done(self, data: dict[str, Any]) -> None:
        check = self.answer.check
        item = data.get("item") or {}
        if not check(self.item is not None, "output_item.done for no item"):
            return
        assert self.item is not None
        check(self.part is None, "output_item.done while a part is open")
        check(data.get("output_index") == len(self.done), f"output_item.done at {data.get('output_index')}")
        for member in ("id", "type", "call_id", "name", "role"):
            check(item.get(member) == self.item.get(member), f"output_item.done: another {member} than added")
        kind = str(item.get("type"))
        if kind in ("function_call", "custom_tool_call"):
            member = "arguments" if kind == "function_call" else "input"
            check(self.said is not None, f"a {kind} item without {member}.done")
            check(item.get(member) == self._joined(), f"output_item.done: {item.get(member)!r} is not the deltas")
        for member in ("content", "summary"):
            if member in self.item or member in item:
                check(item.get(member) == self.item.get(member), f"output_item.done: {member} {item.get(member)!r} is not its parts")
        _item(self.answer, item)
        self.done.append(item)
        self.item = None

    def _abandon(self) -> None:
        """What an error breaks off is what had come of it."""
        assert self.item is not None
        text = self._joined()
        if self.part is not None:
            self.part[PARTS[self.part["type"]][2]] = text
        elif "call_id" in self.item:
            self.item["input" if self.item["type"] == "custom_tool_call" else "arguments"] = text
        _item(self.answer, self.item, broken=True)
        self.item = None

    # parts

    def _response_content_part_added(self, data: dict[str, Any]) -> None:
        self._added(data, "content")

    def _response_content_part_done(self, data: dict[str, Any]) -> None:
        self._part_done(data, "content")

    def _response_reasoning_summary_part_added(self, data: dict[str, Any]) -> None:
        self._added(data, "summary")

    def _response_reasoning_summary_part_done(self, data: dict[str, Any]) -> None:
        self._part_done(data, "summary")

    def _response_output_text_annotation_added(self, data: dict[str, Any]) -> None:
        if not self._at(data, "annotation.added") or not self.answer.check(self.part is not None, "an annotation of no part"):
            return
        assert self.part is not None
        place = len(self.part["annotations"])
        self.answer.check(data.get("annotation_index") == place, f"annotation {data.get('annotation_index')} where {place} is next")
        self.part["annotations"].append(data["annotation"])

    def _search(self, data: dict[str, Any]) -> None:
        self._at(data, data["type"])

    def _response_compaction_compacting(self, data: dict[str, Any]) -> None:
        self.answer.pings += 1
        self._at(data, data["type"])

    _response_web_search_call_in_progress = _response_web_search_call_searching = _response_web_search_call_completed = _search

    def _added(self, data: dict[str, Any], member: str) -> None:
        check = self.answer.check
        part = data.get("part") or {}
        if not self._at(data, "part.added"):
            return
        assert self.item is not None
        kind = str(part.get("type"))
        if not check(kind in PARTS, f"unknown part {kind}"):
            return
        owner, home, _, begin = PARTS[kind]
        check((owner, home) == (self.item.get("type"), member), f"a {kind} part in the {member} of a {self.item.get('type')}")
        check(self.part is None, f"a {kind} part begins inside another")
        parts = self.item.setdefault(member, [])
        check(data.get(f"{member}_index") == len(parts), f"part {data.get(f'{member}_index')} where {len(parts)} is next")
        for name, empty in begin.items():
            check(part.get(name) == empty, f"a {kind} part that begins with {name} {part.get(name)!r}")
        parts.append(part)
        self.part, self.pieces, self.said = part, [], None

    def _part_done(self, data: dict[str, Any], member: str) -> None:
        check = self.answer.check
        if not self._at(data, "part.done") or not check(self.part is not None, "part.done for no part"):
            return
        assert self.item is not None
        assert self.part is not None
        parts = self.item[member]
        part = data.get("part") or {}
        name = PARTS[self.part["type"]][2]
        check(data.get(f"{member}_index") == len(parts) - 1, f"part.done at {data.get(f'{member}_index')}")
        check(part.get("type") == self.part["type"], f"part.done: type {part.get('type')!r}")
        check(part.get(name) == self._joined(), f"part.done: {part.get(name)!r} is not the deltas")
        check(self.said is not None, f"a {part.get('type')} part without its done")
        check(part.get("annotations") == self.part.get("annotations"), "part.done: other annotations than were added")
        check(part.get(name), f"an empty {part.get('type')} part")
        parts[-1] = part
        self.part = None

    def _text(self, stem: str, last: str, data: dict[str, Any]) -> None:
        check = self.answer.check
        kind, member = DELTAS[stem]
        name = f"{stem}.{last}"
        if not self._at(data, name):
            return
        assert self.item is not None
        if kind in PARTS:
            home = PARTS[kind][1]
            if not check(self.part is not None and self.part["type"] == kind, f"{name} without its part"):
                return
            check(data.get(f"{home}_index") == len(self.item[home]) - 1, f"{name} at part {data.get(f'{home}_index')}")
        elif not check(self.item.get("type") == kind, f"{name} in a {self.item.get('type')} item"):
            return
        check(self.said is None, f"{name} behind the done")
        if last == "done":
            self.said = data.get(member)
            check(self.said == self._joined(), f"{name}: {self.said!r} is not the deltas")
        elif check(isinstance(data.get("delta"), str), f"{name} of {data.get('delta')!r}"):
            self.pieces.append(data["delta"])

    def _joined(self) -> str:
        """The pieces in one: halves of a surrogate pair, of two of them, are one character then."""
        return "".join(self.pieces).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def _at(self, data: dict[str, Any], name: str) -> bool:
        """Whether an event is one of the item that is open."""
        if not self.answer.check(self.item is not None, f"{name} in no item"):
            return False
        assert self.item is not None
        right = [data.get("item_id"), data.get("output_index")] == [self.item.get("id"), len(self.done)]
        return self.answer.check(right, f"{name} for item {data.get('item_id')} at {data.get('output_index')}")


def _response(answer: Answer, response: dict[str, Any], status: str) -> None:
    missing = [member for member in REQUIRED if response.get(member) is None]
    answer.check(not missing, f"response {status}: no {', '.join(missing)}")
    answer.check(response.get("object") == "response", f"response {status}: object {response.get('object')!r}")
    answer.check(response.get("status") == status, f"response {status}: status {response.get('status')!r}")
    answer.id, answer.model = str(response.get("id", "")), str(response.get("model", ""))
    answer.check(answer.id.startswith("resp_"), f"response {status}: id {response.get('id')!r}")
    created = response.get("created_at")
    answer.check(type(created) in (int, float), f"response {status}: created_at {created!r}")
    answer.check((status == "failed") == bool(response.get("error")), f"response {status}: error {response.get('error')!r}")
    details = response.get("incomplete_details")
    answer.check((status == "incomplete") == bool(details), f"response {status}: incomplete_details {details!r}")


def _item(answer: Answer, item: dict[str, Any], *, broken: bool = False) -> None:
    """A complete item, or one that an error broke off."""
    kind = item.get("type")
    answer.order.append(str(kind))
    status = item.get("status")
    if not broken:
        fit = status in ("completed", "incomplete") or (kind, status) == ("web_search_call", "failed") or (kind in ("reasoning", "compaction") and status is None)
        answer.check(fit, f"a {kind} item ends {status}")
    match kind:
        case "message":
            answer.check(item.get("role") == "assistant", f"a message of {item.get('role')!r}")
            answer.check(broken or item.get("content"), "an empty message item")
            for part in item.get("content") or ():
                answer.check(part.get("type") in ("output_text", "refusal"), f"a {part.get('type')} part in a message")
                answer.text += part.get("text") or ""
                for note in part.get("annotations") or ():
                    marked = part["text"][note["start_index"] : note["end_index"]]
                    answer.check(note["type"] == "url_citation", f"an annotation of the type {note['type']}")
                    answer.citations.append((note["url"], note["title"], marked))
                answer.refusal += part.get("refusal") or ""
        case "reasoning":
            said = [part.get("text") or "" for member in ("content", "summary") for part in item.get(member) or ()]
            answer.check(isinstance(item.get("summary"), list), f"a reasoning item with summary {item.get('summary')!r}")
            answer.reasoning += "".join(said)
            answer.seals.append(item.get("encrypted_content") or "")
        case "function_call":
            arguments = item.get("arguments")
            whole = isinstance(arguments, str) and (is_object(arguments) or status != "completed")
            answer.check(whole, f"arguments that are no JSON object: {arguments!r}")
            answer.calls.append(Call(item.get("call_id", ""), item.get("name", ""), str(arguments)))
        case "custom_tool_call":
            answer.check(isinstance(item.get("input"), str), f"a custom_tool_call with input {item.get('input')!r}")
            answer.calls.append(Call(item.get("call_id", ""), item.get("name", ""), str(item.get("input")), "custom"))
        case "tool_search_call":
            answer.check(isinstance(item.get("arguments"), dict) or status != "completed", f"a search for {item.get('arguments')!r}")
            answer.check(item.get("execution") == "client", f"a search by {item.get('execution')!r}")
            answer.calls.append(Call(item.get("call_id", ""), "tool_search", json.dumps(item.get("arguments")), "search"))
        case "web_search_call":
            action = item.get("action") or {}
            answer.check(not action or (action.get("type"), type(action.get("queries"))) == ("search", list), f"a search by {action}")
            answer.searches.append(
                (action.get("query", ""), [source["url"] for source in action.get("sources", ())], "unavailable" * (status == "failed"))
            )
        case "compaction":
            keys = {"id", "type", "encrypted_content"}
            answer.check(broken or (set(item) == keys and item["encrypted_content"]), f"a compaction item that says {item}")
            answer.summaries += [] if broken else [item["encrypted_content"]]
        case _:
            answer.faults.append(f"unknown item {kind}")


def _stop(answer: Answer, response: dict[str, Any], status: str) -> None:
    """The end: its status, its usage, and whether they fit what was said."""
    check = answer.check
    answer.stop_reason = status
    output = response.get("output") or []
    open_ = [item.get("type") for item in output if item.get("status") == "incomplete"]
    check(status != "completed" or not open_, f"response.completed with incomplete items: {open_}")
    # where it failed, what had come behind a call that broke off is said all the same
    last = len(open_) <= 1 and (not open_ or output[-1].get("status") == "incomplete")
    check(status == "failed" or last, f"incomplete items: {open_}")
    if status == "incomplete":
        reason = (response.get("incomplete_details") or {}).get("reason")
        check(reason in REASONS, f"incomplete: reason {reason!r}")
        answer.stop_reason = f"incomplete/{reason}"
    if status == "failed":
        answer.error = response.get("error") or {}
        for member in ("code", "message"):
            check(isinstance(answer.error.get(member), str) and answer.error[member], f"error: {member} {answer.error.get(member)!r}")
    answer.usage = response.get("usage")
    if answer.usage is None:
        check(status == "failed", "no usage")
    else:
        _usage(answer, answer.usage)
    answer.check_calls()


def _usage(answer: Answer, usage: dict[str, Any]) -> None:
    for count in COUNTS:
        answer.check(is_count(usage.get(count)), f"usage: {count} {usage.get(count)!r}")
    for details, count in DETAILS:
        value = (usage.get(details) or {}).get(count)
        answer.check(is_count(value), f"usage: {details}.{count} {value!r}")
    total = sum(usage.get(count) or 0 for count in COUNTS[:2])
    answer.check(usage.get("total_tokens") == total, f"usage: total_tokens {usage.get('total_tokens')!r}")
