"""Long regular runs of deltas, in which every lane opens (delta_run.py), and odd things in the middle of them.

    role, 5 to 60 deltas of a text, of arguments, of a leaked call …, an odd event or text, more of the same, the end

Rule of this file: what it builds is events, as bytes; whatever it makes odd, it makes odd while a run is going on.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from dice import Dice
from samples import MARKUP
from tests.support import legal_streams, upstream_answers
from tests.support.streams import chunk

CODE = "def f(x):\n    \"\"\"Says 'hi'.\"\"\"\n    return {'a': [x, \"b\\n\"], \"é\": `1 < 2`}  # → 🌤\u2028 <b>ok</b>\n\tfunction of [a]\n"
PROSE = "Let me look at the file first; then we decide – “for sure” – what to do. For a function, f(x) < 1.\n\n- one\n- `two`\n```py\nx = [1]\n```\n"
PLAIN = "so many words of the same kind and nothing to be seen in them "
CHINESE = "\u4f60\u597d\uff0c\u6211\u6765\u770b\u770b function \u25c1think\u25b7 \u2018of\u2019 \U0001f389\u201cit\u201d\u2026 "
ARGUMENTS = json.dumps({"description": CODE})
LEAKS = (
    ("kimi-k2.5", f"<|tool_calls_section_begin|><|tool_call_begin|>functions.task:0<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>"),
    ("qwen3-coder", f"<tool_call>\n<function=task>\n<parameter=description>\n{CODE}\n</parameter>\n</function>\n</tool_call>"),
    ("qwen2.5", f'<tool_call>\n{{"name": "task", "arguments": {ARGUMENTS}}}\n</tool_call>'),
    ("llama-3.3", f"[task(description={CODE!r})]"),
    ("deepseek-v3.2", f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="task">\n<｜DSML｜parameter name="description" string="true">{CODE}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'),
    ("deepseek-v3.1", f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>task<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ("minimax-m2", f'<minimax:tool_call>\n<invoke name="task">\n<parameter name="description">{CODE}</parameter>\n</invoke>\n</minimax:tool_call>'),
    ("glm-4.6", f"<tool_call>task\n<arg_key>description</arg_key>\n<arg_value>{CODE}</arg_value>\n</tool_call>"),
    ("mistral-large", f"[TOOL_CALLS]task[ARGS]{ARGUMENTS}"),
    ("gpt-oss-120b", f"<|channel|>commentary to=functions.task<|constrain|>json<|message|>{ARGUMENTS}<|call|>"),
    ("gemma-4", f'```json\n[{{"name": "task", "arguments": {ARGUMENTS}}}]\n```'),
    ("kimi-k2.5", PROSE + "<|tool_call_begin|> is a token. " + PROSE),
    ("unknown", "<think>" + PROSE + "</think>" + PROSE),
)  # fmt: skip
"""(model, what it says): a call as text; text that only seems to be one."""

TEXTS = (
    "", " ", "\n", '"', "\\", "\\n", "n", "é", "🌤", "\ud83c", "\udf24", "\u2028", "\x00", "\x7f", "x" * 600, "y" * 70_000, "é" * 300, "\\" * 99,
    "<", "a <", "f", " [", "`", "```", "{", "</", "|>", "data: x\n\n", "\r\n", "\ufeff", *MARKUP,
)  # fmt: skip
"""What stands where the text of a delta should."""

EVENTS = (
    b": keep-alive", b":", b"event: ping\ndata: {}", b'event: ping\ndata: {"type": "ping"}', b"data: : keepalive", b"data:", b"data", b"data: ",
    b"data: [DONE]", b"data:[DONE]", b"data: null", b"data: 1", b"data: []", b"data: {}", b'data: "x"', b"id: 7", b"retry: 10", b"", b"\n", b"\xef\xbb\xbf",
    b"\x00", b"<html><body>502 Bad Gateway</body></html>", b'{"error": {"message": "x"}}', b'data: {"error": {"message": "x", "code": 429}}',
    b'data: {"error": "x"}', b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}',
    b'data: {"choices": []}', b'data: {"choices": null}', b'data: {"choices": [null]}', b'data: {"choices": [{}]}', b'data: {"choices": [{"delta": null}]}',
    b'data: {"choices": [{"index": 0, "delta": {"content": null}}]}', b'data: {"choices": [{"index": 1, "delta": {"content": "other"}}]}',
    b'data: {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}', b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}',
    b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}', b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [null]}}]}',
    b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 1, "function": {"arguments": "x"}}]}}]}',
    b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "n", "function": {"name": "task", "arguments": "{"}}]}}]}',
    b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"function": {"arguments": {"a": 1}}}]}}]}',
    b'data: {"type": "message_stop"}', b'data: {"type": "content_block_stop", "index": 0}', b'data: {"type": "content_block_delta", "index": 9, "delta": {}}',
    b'event: message_delta\ndata: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}',
    b'data: {"type": "response.output_text.delta", "delta": "x"}', b'data: {"type": "response.output_item.done", "item": null}',
    b'data: {"type": "response.completed"}', b'data: {"type": "response.in_progress", "response": {}}', b'data: {"type": "unheard.of"}',
)  # fmt: skip
"""What comes in between, without the blank line behind it."""

MEMBERS = (
    b'"choices": [], ', b'"type": "x", ', b'"delta": 1, ', b'"index": 1, ', b'"usage": {"prompt_tokens": 1}, ', b'"error": null, ', b'"x": 1e999, ',
    b'"x": -0, ', b'"x": NaN, ', b'"x": ' + b"9" * 5000 + b", ", b'"x": ' + b"[" * 300 + b"]" * 300 + b", ", b'"x": ' + b"[" * 100_000 + b", ",
    b'"content": "z", ', b'"item_id": "z", ', b'"sequence_number": 1, ', b'"obfuscation": "ab", ', b'"": "\\ud800", ', b"\n", b",", b"  ",
)  # fmt: skip
"""What stands in an object in front of its members: some come twice then."""

NUMBERS = (b"-1", b"1", b"2", b"0.0", b'"0"', b"null", b"1e400", b"99999999999999999999999", b"00", b"true", b"[]")
BYTES = (b"\xff", b"\xe2\x82", b"\x00", b"\r", b"\n", b"\r\n", b'"', b"\\", b"\\u", b"\\ud83c", b"\\x", b"}", b"\xef\xbb\xbf", b"\ndata: ", b"\n\n", b"\x1f", b",")
"""What stands where a number should; what stands anywhere in an event."""

_MEMBER = re.compile(rb'"(content|reasoning_content|arguments|partial_json|thinking|text|delta|input)":( ?)"(?:[^"\\]|\\.)*"')
_NUMBER = re.compile(rb'"(index|output_index|content_index|sequence_number|created)":( ?)\d+')


def _own_tokens(value: dict[str, Any], count: int) -> dict[str, Any]:
    token = {"token": "a" * (count % 3), "logprob": -0.5 * count, "bytes": [97] * (count % 3)}
    choices = [{**each, "logprobs": {"content": [token]}, "token_ids": [count]} for each in value.get("choices", ())]
    return {**value, "choices": choices} if choices else value


def _own_place(value: dict[str, Any], _: int) -> dict[str, Any]:
    delta = value.get("delta")
    if isinstance(delta, dict) and str(value.get("type")).startswith("content"):
        value = {**value, "delta": {name: said for name, said in delta.items() if name != "type"}}
    return {name: said for name, said in value.items() if name not in ("index", "output_index")}


OWN: Sequence[Callable[[dict[str, Any], int], dict[str, Any]]] = (
    *[lambda value, _: value] * 4,
    lambda value, count: {**value, "usage": {"prompt_tokens": 9, "completion_tokens": count // 2}},
    lambda value, count: {**value, "id": f"c{count}"} if "choices" in value else value,
    lambda value, count: {**value, "item_id": f"msg_{count}"} if "item_id" in value else value,
    _own_tokens,
    _own_place,
)
"""What each delta of a stream may have of its own, or lack."""


class Style:
    """How an upstream writes its events."""

    def __init__(self, dice: Dice) -> None:
        self.newline = dice.one((b"\n", b"\n", b"\n", b"\r\n", b"\r"))
        self.colon = dice.one((b"data: ", b"data: ", b"data:"))
        self.ascii = not dice.number(2)
        self.separators = dice.one(((", ", ": "), (",", ":")))
        self.named = bool(dice.number(8))
        self.numbered = bool(dice.number(4))
        self.filler = not dice.number(3)
        self.escaped = dice.one((b"", b"", b"<>&", b"/"))  # by some in Go, by some in PHP
        self.own = dice.one(OWN)
        self.counted = not dice.number(8)

    def event(self, value: dict[str, Any], count: int) -> bytes:
        if not self.numbered:
            value = {key: held for key, held in value.items() if key != "sequence_number"}
        if self.filler and ("choices" in value or "delta" in value):
            value = {**value, "obfuscation": "aZ09+/=_-"[: count % 7]}
        if value.get("choices") or "delta" in value:
            value = self.own(value, count)
        data = json.dumps(value, ensure_ascii=self.ascii, separators=self.separators).encode(errors="surrogatepass")
        for code in self.escaped:
            data = data.replace(bytes((code,)), b"\\u%04x" % code if code != 47 else rb"\/")
        name = b"event: " + value["type"].encode() + self.newline if self.named and "type" in value else b""
        number = b"id: %d" % count + self.newline if self.counted else b""
        return number + name + self.colon + data + self.newline * 2


def cut(dice: Dice, text: str) -> list[str]:
    """A text in deltas; sometimes an emoji is cut in two."""
    if not dice.number(3):
        text = "".join(chr(int.from_bytes(unit, "little")) for unit in _units(text))
    sizes = [dice.one((2, 3, 5, 8, 1, 4, 20)) for _ in range(3)]
    out, at = [], 0
    while at < len(text):
        out.append(text[at : at + sizes[len(out) % 3]])
        at += len(out[-1])
    return out


def _units(text: str) -> list[bytes]:
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[at : at + 2] for at in range(0, len(data), 2)]


type Run = tuple[str, list[str]]


def said(dice: Dice) -> tuple[str, list[Run]]:
    """The model, and what it says: kinds of runs and their deltas."""
    model, runs = "unknown", list[Run]()
    for _ in range(1 + dice.number(3)):
        match dice.number(6):
            case 0:
                runs.append(("text", cut(dice, dice.one((PROSE, PLAIN, CHINESE)))))
            case 1:
                runs.append(("reasoning", cut(dice, dice.one((PROSE, PLAIN, CHINESE)))))
            case 2:
                runs.append(("call", cut(dice, ARGUMENTS)))
            case 3:
                runs.append(("custom", cut(dice, CODE)))
            case _:
                model, text = dice.one(LEAKS)
                runs.append((dice.one(("text", "text", "reasoning")), cut(dice, dice.one(("", PLAIN)) + text)))
    return model, runs


def events(api: str, dice: Dice) -> tuple[str, list[bytes]]:
    """The model, and the events of an answer in long runs."""
    style = Style(dice)
    model, runs = said(dice)
    values = _SPEAKERS[api](runs)
    out = [style.event(value, count) for count, value in enumerate(values)]
    if api == "chat":
        out.append(style.colon + b"[DONE]" + style.newline * 2)
    for _ in range(dice.number(4)):
        odd(dice, out, style)
    return model, out


def _arguments(kind: str, texts: list[str]) -> list[str]:
    """The input of a custom tool, in an API that has none."""
    return texts if kind == "call" else ['{"description": "', *(json.dumps(text)[1:-1] for text in texts), '"}']


def _chat(runs: Sequence[Run]) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    calls = 0
    for kind, texts in runs:
        if kind in ("text", "reasoning"):
            deltas += ({"content" if kind == "text" else "reasoning_content": text} for text in texts)
            continue
        call = {"index": calls, "id": f"call_{calls}", "type": "function", "function": {"name": "task", "arguments": ""}}
        deltas.append({"tool_calls": [call]})
        deltas += ({"tool_calls": [{"index": calls, "function": {"arguments": text}}]} for text in _arguments(kind, texts))
        calls += 1
    usage = chunk()
    usage |= {"choices": [], "usage": upstream_answers.usage_of("chat", upstream_answers.Counts())}
    return [*(chunk(delta) for delta in deltas), chunk({}, "tool_calls" if calls else "stop"), usage]


def _messages(runs: Sequence[Run]) -> list[dict[str, Any]]:
    blocks = []
    for kind, texts in runs:
        match kind:
            case "text":
                blocks.append(legal_streams.text(*texts))
            case "reasoning":
                blocks.append(legal_streams.thinking(*texts, signature="sig"))
            case _:
                blocks.append(legal_streams.tool(f"toolu_{len(blocks)}", "task", *_arguments(kind, texts)))
    stop = "tool_use" if any(kind in ("call", "custom") for kind, _ in runs) else "end_turn"
    return legal_streams.messages(*blocks, stop=stop)


def _responses(runs: Sequence[Run]) -> list[dict[str, Any]]:
    items = []
    for kind, texts in runs:
        match kind:
            case "text":
                items.append(legal_streams.say(*texts))
            case "reasoning":
                items.append(legal_streams.think(*texts, encrypted="e"))
            case "call":
                items.append(legal_streams.call(f"call_{len(items)}", "task", *texts))
            case _:
                items.append(legal_streams.custom(f"call_{len(items)}", "patch", *texts))
    return legal_streams.responses(*items)


_SPEAKERS = {"chat": _chat, "messages": _messages, "responses": _responses}


def odd(dice: Dice, events: list[bytes], style: Style) -> None:
    """One odd thing, in place."""
    if not events:
        return
    at = dice.number(len(events))
    event = events[at]
    match dice.number(14):
        case 0:
            events[at : at + 1] = [event] * (2 + dice.number(4))
        case 1:
            events.insert(dice.number(len(events) + 1), event)
        case 2:
            to = dice.number(len(events))
            events[at], events[to] = events[to], events[at]
        case 3:
            del events[at : at + 1 + dice.number(3)]
        case 4:
            events[at] = event[: dice.number(len(event) or 1)]
        case 5 | 6:
            events.insert(at, dice.one(EVENTS).replace(b"\n", style.newline) + style.newline * 2)
        case 7 | 8:
            text = json.dumps(dice.one(TEXTS), ensure_ascii=style.ascii).encode(errors="surrogatepass")
            events[at] = _MEMBER.sub(lambda found: b'"%b":%b%b' % (found[1], found[2], text), event, count=1)
        case 9:
            places = [found.end() for found in re.finditer(rb"\{", event)] or [0]
            place = dice.one(places)
            events[at] = event[:place] + dice.one(MEMBERS) + event[place:]
        case 10:
            number = dice.one(NUMBERS)
            numbers = list(_NUMBER.finditer(event))
            if numbers:
                found = dice.one(numbers)
                events[at] = event[: found.start()] + b'"%b":%b%b' % (found[1], found[2], number) + event[found.end() :]
        case 11:
            place = dice.number(len(event) + 1)
            events[at] = event[:place] + dice.one(BYTES) + event[place:]
        case 12:
            events[at] = event.rstrip(b"\r\n") + dice.one((b"", style.newline, b"\n", b"\r", b"\r\n\r\n", b"\n\r\n", b"\r\r\n"))
        case _:
            head, found, data = event.partition(style.colon)
            if found and data.startswith(b"{"):
                try:
                    value = json.loads(data)
                except ValueError:
                    return
                events[at] = head + found + json.dumps(dice.bent(value), ensure_ascii=style.ascii).encode(errors="surrogatepass") + style.newline * 2

