"""Native calls that are not as they should be, in each way that was seen in the wild (dialect-rules.md, R12 to R17)."""

import json
from dataclasses import replace
from typing import Any

from tests.support.streams import META, chunk, request, tool

from . import Pattern

REQUEST = request(
    tool("get_weather", city={"type": "string"}),
    tool("get_time", zone={"type": "string"}),
    tool("task", description={"type": "string"}),
    model="some-model",
)
CITY, ZONE = '{"city": "Beijing"}', '{"zone": "UTC"}'
LISTED = '{"cities": ["Beijing", {"of": "x", "in": [1, 2]}], "more": {"so": "on"}}'
GET, TIME = ("call_a", "get_weather", CITY), ("call_b", "get_time", ZONE)
NONE: Any = object()


def entry(index: Any = NONE, id_: Any = NONE, name: Any = NONE, arguments: Any = NONE) -> dict[str, Any]:
    """An entry of `tool_calls` that has what is given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not NONE}
    found = {key: value for key, value in (("index", index), ("id", id_)) if value is not NONE}
    return {**found, "type": "function", "function": function}


def calls(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": list(entries)}


def first(arguments: Any = "", **more: Any) -> dict[str, Any]:
    """A regular beginning."""
    return calls({**entry(0, "call_a", "get_weather", arguments), **more})


def more(arguments: Any, index: int = 0) -> dict[str, Any]:
    """A regular continuation."""
    return calls({"index": index, "function": {"arguments": arguments}})


def whole(arguments: str, name: str = "get_weather") -> list[dict[str, Any]]:
    """A call whose arguments come in pieces of five characters."""
    return [calls(entry(0, "call_a", name, "")), *(more(arguments[n : n + 5]) for n in range(0, len(arguments), 5))]


def mended(deltas: list[Any], *rules: str, told: list[tuple[str | None, str, str]] | None = None, **more: Any) -> Pattern:
    """A pattern with the call `GET`, unless it says otherwise."""
    return Pattern(REQUEST, deltas, [GET] if told is None else told, **{"finish": "tool_calls", "rules": rules, **more})


def needing(deltas: list[Any], *rules: str, **more: Any) -> Pattern:
    """The same, of tools that require what they declare."""
    offered = [{**each, "function": {**each["function"], "parameters": required(each["function"]["parameters"])}} for each in REQUEST["tools"]]
    return replace(mended(deltas, *rules, **more), request={**REQUEST, "tools": offered})


def typed(arguments: str, *rules: str, told: str = "") -> Pattern:
    """A call of a tool whose parameters have other types than text."""
    offered = tool("get_weather", city={"type": "string"}, day={"type": "integer"}, hours={"type": "array", "items": {"type": "integer"}})
    made = mended(whole(arguments), *rules, told=[("call_a", "get_weather", told or arguments)])
    return replace(made, request={**REQUEST, "tools": [offered, *REQUEST["tools"][1:]]})


def required(parameters: dict[str, Any]) -> dict[str, Any]:
    return {**parameters, "required": list(parameters["properties"])}


MADE = (None, "get_weather", CITY)
EMPTY = ("call_a", "get_weather", "{}")
ZONED = ("call_a", "get_weather", '{"zone": "UTC"}')
CALL = {"name": "get_weather", "arguments": ""}

PATTERNS = {
    # the call before there were `tool_calls`
    "function-call": mended(
        [{"function_call": CALL}, {"function_call": {"arguments": CITY[:9]}}, {"function_call": {"arguments": CITY[9:]}}],
        "function_call", "tool_call_id", "finish_reason", told=[MADE], finish="function_call",
    ),
    "function-call-name-repeated": mended(
        [{"function_call": {**CALL, "arguments": CITY[:9]}}, {"function_call": {**CALL, "arguments": CITY[9:]}}],
        "function_call", "tool_call_id", "tool_call_name", "finish_reason", told=[MADE], finish="stop",
    ),
    # ids and names
    "no-id": mended([calls(entry(0, NONE, "get_weather", "")), more(CITY)], "tool_call_id", told=[MADE]),
    "empty-id": mended([calls(entry(0, "", "get_weather", CITY))], "tool_call_id", told=[MADE]),
    "null-id": mended([calls(entry(0, None, "get_weather", CITY))], "tool_call_id", told=[MADE]),
    "id-that-is-a-number": mended([calls(entry(0, 7, "get_weather", CITY))], "tool_call_id", told=[MADE]),
    "late-id": mended(
        [calls(entry(0, NONE, "get_weather", "")), calls(entry(0, "call_a")), more(CITY)], "tool_call_id"
    ),
    "id-behind-the-arguments": mended(
        [calls(entry(0, NONE, "get_weather", CITY[:5])), calls(entry(0, "call_a", NONE, CITY[5:]))],
        "tool_call_id", told=[MADE],
    ),
    "id-first-name-later": mended(
        [calls(entry(0, "call_a", None, "")), calls(entry(0, None, "get_weather", "")), more(CITY)], "tool_call_name"
    ),
    "name-behind-the-arguments": mended(
        [calls(entry(0, "call_a", "", CITY)), calls(entry(0, NONE, "get_weather"))], "tool_call_name", "arguments"
    ),
    "split-name": mended(
        [calls(entry(0, "call_a", "get", "")), calls(entry(0, NONE, "_wea")), calls(entry(0, NONE, "ther")), more(CITY)],
        "tool_call_name",
    ),
    "split-name-with-id": mended(
        [calls(entry(0, "call_a", "get_", "")), calls(entry(0, "call_a", "weather", "")), more(CITY)],
        "tool_call_name", "tool_call_id",
    ),
    "split-id": mended(
        [calls(entry(0, "call_", "get_weather", "")), calls(entry(0, "a", NONE, CITY))],
        "tool_call_id", told=[("call_", "get_weather", CITY)],
    ),
    "id-and-name-repeated": mended(
        [calls(entry(0, "call_a", "get_weather", piece)) for piece in ("", CITY[:4], CITY[4:9], CITY[9:], "")],
        "tool_call_id", "tool_call_name", "arguments",
    ),
    "id-and-name-repeated-two-calls": mended(
        [
            *(calls(entry(0, "call_a", "get_weather", piece)) for piece in ("", CITY[:4], CITY[4:])),
            *(calls(entry(1, "call_b", "get_time", piece)) for piece in (ZONE[:4], ZONE[4:])),
        ],
        "tool_call_id", "tool_call_name", told=[GET, TIME],
    ),
    "empty-id-and-name-on-each-delta": mended(
        [first(), *(calls(entry(0, "", "", CITY[n : n + 5])) for n in range(0, len(CITY), 5))], "tool_call_id", "tool_call_name"
    ),
    "empty-id-on-each-delta": mended([first(CITY[:4]), calls(entry(0, "", NONE, CITY[4:]))], "tool_call_id"),
    "another-id-on-each-delta": mended(
        [first(), *(calls(entry(0, f"x{n}", NONE, CITY[n : n + 5])) for n in range(0, len(CITY), 5))], "tool_call_id"
    ),
    "equal-ids": mended(
        [first(CITY), calls(entry(1, "call_a", "get_time", ZONE))], "tool_call_id", told=[GET, (None, *TIME[1:])]
    ),
    "equal-ids-side-by-side": mended(
        [calls(entry(0, "call_a", "get_weather", ""), entry(1, "call_a", "get_weather", "")), more(CITY), more("{}", 1)],
        "tool_call_id", told=[GET, (None, "get_weather", "{}")],
    ),
    "equal-ids-no-index": mended(
        [calls(entry(NONE, "0", "get_weather", CITY)), calls(entry(NONE, "0", "get_time", ZONE))],
        "tool_call_index", "tool_call_id", told=[("0", *GET[1:]), (None, *TIME[1:])],
    ),
    "no-name-one-tool-fits": mended([calls(entry(0, "call_a", NONE, CITY))], "tool_call_name"),
    "no-name-no-tool-fits": mended(
        [calls(entry(0, "call_a", NONE, '{"x": 1}'))], "tool_call_name", "finish_reason",
        told=[], content='{"x": 1}', expected_finish="stop",
    ),
    "residue-behind-the-name": mended(
        [calls(entry(0, "call_a", "get_weather<|channel|>commentary", "")), more(CITY)], "tool_call_name"
    ),
    "functions-in-front-of-the-name": mended([*whole(CITY, " functions.get_weather")], "tool_call_name"),
    "googles-module-in-front-of-the-name": mended([*whole(CITY, "default_api.get_weather")], "tool_call_name"),
    # index and type
    "index-from-one": mended(
        [calls(entry(1, "call_a", "get_weather", "")), more(CITY, 1), calls(entry(2, "call_b", "get_time", ZONE))],
        "tool_call_index", told=[GET, TIME],
    ),
    "index-with-gaps": mended(
        [first(CITY), calls(entry(7, "call_b", "get_time", "")), more(ZONE, 7)], "tool_call_index", told=[GET, TIME]
    ),
    "no-index": mended(
        [calls(entry(NONE, "call_a", "get_weather", "")), calls({"function": {"arguments": CITY}}),
         calls(entry(NONE, "call_b", "get_time", "")), calls({"function": {"arguments": ZONE}})],
        "tool_call_index", told=[GET, TIME],
    ),
    "no-index-no-id": mended(
        [calls(entry(NONE, NONE, "get_weather", CITY), entry(NONE, NONE, "get_time", ZONE))],
        "tool_call_id", "tool_call_index", told=[MADE, (None, *TIME[1:])],
    ),
    "all-at-index-zero": mended(
        [first(), more(CITY), calls(entry(0, "call_b", "get_time", "")), more(ZONE)], "tool_call_index", told=[GET, TIME]
    ),
    "all-at-index-zero-in-one-chunk": mended(
        [calls(entry(0, "call_a", "get_weather", CITY), entry(0, "call_b", "get_time", ZONE))],
        "tool_call_index", told=[GET, TIME],
    ),
    "all-at-index-zero-no-id": mended(
        [calls(entry(0, NONE, "get_weather", "")), more(CITY), calls(entry(0, NONE, "get_time", "")), more(ZONE)],
        "tool_call_id", "tool_call_index", told=[MADE, (None, *TIME[1:])],
    ),
    "indices-that-are-no-integers": mended(
        [calls(entry(0.0, "call_a", "get_weather", "")), calls(entry("1", "call_b", "get_time", "")), more(ZONE, 1.0), more(CITY, "0")],  # type: ignore[arg-type]
        "tool_call_index", told=[GET, TIME],
    ),
    "an-index-nobody-announced": mended([first(), more(CITY[:4], 1), more(CITY[4:], 2)], "tool_call_index"),
    "one-call-at-two-indices": mended(
        [first(CITY[:4]), calls(entry(1, "call_a", NONE, CITY[4:]))], "tool_call_id", "tool_call_index"
    ),
    "index-that-is-a-string": mended([calls(entry("0", "call_a", "get_weather", CITY))], "tool_call_index"),
    "no-type": mended([calls({"index": 0, "id": "call_a", "function": CALL}), more(CITY)], "tool_call_type"),
    "calls-that-are-no-list": mended([{"tool_calls": entry(0, "call_a", "get_weather", CITY)}], "tool_calls"),
    "calls-under-their-places": mended(
        [{"tool_calls": {"0": entry(0, "call_a", "get_weather", "")}}, {"tool_calls": {"0": {"function": {"arguments": CITY}}}}],
        "tool_calls", "tool_call_index",
    ),
    "calls-in-a-list-of-lists": mended([{"tool_calls": [[entry(0, "call_a", "get_weather", CITY)]]}], "tool_calls"),
    "calls-as-json-text": mended([{"tool_calls": json.dumps([entry(0, "call_a", "get_weather", CITY)])}], "tool_calls"),
    "a-function-as-json-text": mended(
        [calls({**entry(0, "call_a"), "function": json.dumps({"name": "get_weather", "arguments": CITY})})], "tool_calls"
    ),
    "a-function-that-is-its-name": mended(
        [calls({**entry(0, "call_a"), "function": "get_weather", "arguments": CITY})], "tool_calls"
    ),
    "name-and-arguments-beside-the-function": mended(
        [calls({"index": 0, "id": "call_a", "type": "function", **CALL}), calls({"index": 0, "arguments": CITY})], "tool_calls"
    ),
    "name-beside-the-function": mended(
        [calls({"index": 0, "id": "call_a", "type": "function", "name": "get_weather", "function": {"arguments": CITY}})],
        "tool_calls",
    ),
    "parameters-in-place-of-arguments": mended(
        [calls({**entry(0, "call_a"), "function": {"name": "get_weather", "parameters": {"city": "Beijing"}}})],
        "tool_calls", "arguments_type", told=[("call_a", "get_weather", '{"city":"Beijing"}')],
    ),
    "parameters-beside-arguments": mended(
        [calls({**entry(0, "call_a"), "function": {"name": "get_weather", "arguments": CITY, "parameters": {"city": "Rome"}}})]
    ),
    "a-type-that-becomes-null": mended(
        [first(""), *(calls({"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": CITY[n : n + 3]}}) for n in range(0, len(CITY), 3))],
        "tool_call_type",
    ),
    "an-entry-that-is-none": mended([calls(None, *first(CITY)["tool_calls"])], "tool_call_type"),  # type: ignore[arg-type]
    "an-entry-that-says-nothing": mended([calls(entry(0, None, None, "")), first(CITY)], "tool_call_name"),
    # arguments
    "arguments-an-object": mended(
        [first({"city": "Beijing"})], "arguments_type", told=[("call_a", "get_weather", '{"city":"Beijing"}')]
    ),
    "arguments-null": mended([first(None), more(None)], "arguments_type", "arguments", told=[EMPTY]),
    "arguments-null-at-first": mended([first(None), more(CITY)], "arguments_type"),
    "arguments-first-brace-twice": mended([first(""), more("{"), more(CITY)], "arguments"),
    "arguments-an-empty-object-at-first": mended([first({}), more(CITY)], "arguments_type"),
    "arguments-all-so-far-in-each": mended(
        [first(), *(more(LISTED[:n]) for n in range(1, len(LISTED), 3)), more(LISTED)], "arguments", told=[("call_a", "get_weather", LISTED)]
    ),
    "arguments-all-so-far-with-id-and-name": mended(
        [first(CITY[:n]) for n in (1, 4, 9, 9, len(CITY))], "tool_call_id", "tool_call_name", "arguments"
    ),
    "arguments-that-repeat-their-beginning": mended(
        [first(), more('{"a":'), more('{"a":{"city": '), more('"{\\"a\\":{'), more('{\\"a\\":"}}}')],
        told=[("call_a", "get_weather", '{"a":{"a":{"city": "{\\"a\\":{{\\"a\\":"}}}')],
    ),
    "an-empty-object-that-may-be-all": mended([calls(entry(0, "call_a", "list_files", "{}"))], told=[("call_a", "list_files", "{}")]),
    "arguments-a-list-of-pieces": mended([first([CITY[:5], CITY[5:]])], "arguments_type"),
    "no-arguments": mended([calls(entry(0, "call_a", "get_weather"))], "arguments", told=[EMPTY]),
    "the-word-null": mended([*whole("null")], "arguments", told=[EMPTY]),
    "arguments-in-a-string": mended([*whole('"{\\"city\\": \\"Beijing\\"}"')], "argument_json"),
    "arguments-in-a-fence": mended([*whole(f"\n```json\n{CITY}\n```\n")], "argument_json", told=[("call_a", "get_weather", "\n" + CITY)]),
    "arguments-behind-a-tag": mended([*whole(f"<|tool_call_argument_begin|>{CITY}<|tool_call_end|>")], "argument_json"),
    "an-end-tag-behind": mended([*whole(f"{CITY}</tool_call>")], "argument_json"),
    "a-surplus-brace": mended([*whole(CITY + "}")], "argument_json"),
    "raw-newlines": mended(
        [*whole('{"city": "a\n\tb"}')], "argument_json", told=[("call_a", "get_weather", '{"city": "a\\n\\tb"}')]
    ),
    "single-quotes-in-the-middle": mended(
        [*whole('{"city": \'it\\\'s "x", it\'s\', "day": 1}')], "argument_json",
        told=[("call_a", "get_weather", '{"city": "it\'s \\"x\\", it\'s", "day": 1}')],
    ),
    "comments-and-names-without-quotes": mended(
        [*whole('{"city": "http://a", // the city\n day: /* 1 */ 2, # last\n}')], "argument_json",
        told=[("call_a", "get_weather", '{"city": "http://a", \n "day":  2 \n}')],
    ),
    "closing-brackets-missing": mended(
        [*whole('{"city": "Beijing", "days": [{"n": 1}')], "argument_json",
        told=[("call_a", "get_weather", '{"city": "Beijing", "days": [{"n": 1}]}')],
    ),
    "a-number-and-a-list-as-text": typed('{"day": "5", "hours": "[1, \\"2\\"]", "city": "5"}', "argument_types", told='{"day": 5, "hours": [1, 2], "city": "5"}'),
    "types-and-syntax": typed("{'day': '5', hours: [1, 2,],}", "argument_json", "argument_types", told='{"day": 5, "hours": [1, 2]}'),
    "text-that-stays": typed('{"day": "05", "hours": "1, 2", "city": "[1]"}'),
    "blanks-and-nothing-behind": mended([first(CITY), more("\n"), more(" "), more("")], "argument_json", "arguments"),
    "arguments-twice": mended([*whole(CITY + CITY)], "argument_json"),
    "arguments-twice-at-the-end": mended([first(CITY), more(CITY)], "argument_json"),
    "arguments-twice-spelt-otherwise": mended([first(CITY), more('{"city":"Bei'), more('jing"}')], "argument_json"),
    "arguments-one-and-a-half-times": mended([first(CITY), more('{"city": "Bei')], "argument_json"),
    "the-call-twice": mended([first(CITY), first(CITY)], "tool_call_id", "tool_call_name", "argument_json"),
    "the-call-twice-at-another-index": mended(
        [*whole(CITY), calls(entry(1, "call_a", "get_weather", '{"city":"Beijing"}'))],
        "tool_call_id", "tool_call_name", "argument_json", "tool_call_index",
    ),
    "the-call-begun-at-another-index": mended(
        [first(), calls(entry(1, "call_a", "get_weather", CITY))], "tool_call_id", "tool_call_name", "tool_call_index"
    ),
    "each-piece-at-another-index": mended(
        [calls(entry(n, "call_a", "get_weather", piece)) for n, piece in enumerate(("", CITY[:5], CITY[5:9], CITY[9:]))],
        "tool_call_id", "tool_call_name", "tool_call_index",
    ),
    "each-piece-with-another-id-and-the-name": mended(
        [calls(entry(0, f"call_{'abc'[n]}", "get_weather", piece)) for n, piece in enumerate((CITY[:5], CITY[5:9], CITY[9:]))],
        "tool_call_id", "tool_call_name",
    ),
    "two-calls-of-one-id": mended(
        [*whole(CITY), calls(entry(1, "call_a", "get_weather", '{"city": "Bonn"}'))], "tool_call_id",
        told=[GET, (None, "get_weather", '{"city": "Bonn"}')],
    ),
    "two-objects-in-one-call": mended(
        [*whole(CITY + ZONE)], "argument_json", "tool_call_index", "tool_call_id",
        told=[GET, (None, "get_weather", ZONE)],
    ),
    "broken-off": mended(
        [first(CITY[:9])], told=[("call_a", "get_weather", CITY[:9])], finish="length", expected_finish="length"
    ),
    "broken-off-before-the-arguments": mended(
        [first()], told=[("call_a", "get_weather", "")], finish="length", expected_finish="length"
    ),
    # finish reasons and chunks
    "stop-with-a-call": mended([first(CITY)], "finish_reason", finish="stop"),
    "no-finish": mended([first(CITY)], "finish_reason", finish=None),
    "no-finish-and-a-call-that-is-held": mended([calls(entry(0, NONE, "get_weather"))], "tool_call_id", "arguments", "finish_reason", told=[(None, "get_weather", "{}")], finish=None),
    "tool-calls-without-a-call": mended(["Hello"], "finish_reason", told=[], content="Hello", expected_finish="stop"),
    "finish-twice": mended(
        [first(CITY), chunk({}, "tool_calls"), chunk({}, "tool_calls")], "finish_repeated"
    ),
    "an-unknown-finish": mended([first(CITY)], finish="enough", expected_finish="enough"),
    "a-finish-in-another-word": mended([first(CITY)], "finish_reason", finish="eos"),
    "an-empty-finish": mended([chunk({"content": "Hi"}, ""), chunk(first(CITY), "")], "finish_reason", content="Hi"),
    "null-delta": mended(
        [{**META, "choices": [{"index": 0, "delta": None, "finish_reason": None}]}, first(CITY),
         {**META, "choices": [{"index": 0, "delta": None, "finish_reason": "tool_calls"}]}],
        "delta", finish=None,
    ),
    "no-delta": mended([first(CITY), {**META, "choices": [{"index": 0, "finish_reason": "tool_calls"}]}], "delta", finish=None),
    "calls-beside-the-delta": mended(
        [{**META, "choices": [{"index": 0, "delta": {}, "finish_reason": None, **delta}]} for delta in (first(CITY[:9]), more(CITY[9:]))], "delta",
    ),
    "chunks-without-their-fields": mended(
        [{"choices": chunk(delta)["choices"]} for delta in (first(CITY[:4]), more(CITY[4:]), {"content": "Done."})],
        "chunk_fields", content="Done.",
    ),
    "text-that-is-a-number": mended([{"content": "Hi "}, {"content": 6}, {"content": " "}, {"content": 0}, first(CITY)], "content_type", content="Hi 6 0"),
    "roles-that-are-empty": mended(
        [{"role": "", "content": "Hi"}, *({"role": "", **delta} for delta in (first(CITY[:9]), more(CITY[9:])))], "role", content="Hi"
    ),
    "choice-in-two-pieces": mended(
        [{**META, "choices": [{"index": 0, "delta": {"content": "Hi"}}, {"index": 0, "delta": first(CITY[:9])}]},
         {**META, "choices": [{"index": 0, "delta": more(CITY[9:])}, {"index": 0, "delta": {"content": ""}, "finish_reason": "tool_calls"}]}],
        "choice_index", content="Hi", finish=None,
    ),
    "members-of-another-type": mended(
        [{**chunk(delta), "created": 1760000000.5, "error": None, "usage": {}} for delta in (first(CITY[:4]), more(CITY[4:]), {"content": "Done."})],
        "chunk_fields", content="Done.",
    ),
    "choice-without-index": mended(
        [{**META, "choices": [{"delta": first(CITY), "finish_reason": None}]}, {**META, "choices": [{"delta": {"content": "!"}}]}],
        "choice_index", content="!",
    ),
    # a tool that takes no call without parameters
    "an-empty-object-and-then-the-call": needing([first("{}"), more(" "), more("{}"), *whole(CITY)[1:]], "arguments"),
    "each-piece-with-another-id": needing(
        [calls(entry(0, f"call_{'abc'[n]}", "get_weather", piece)) for n, piece in enumerate(("", CITY[:9], CITY[9:]))],
        "tool_call_id", "tool_call_name",
    ),
    "an-empty-object-and-nothing-behind": needing(
        [first("{}"), calls(entry(1, "call_b", "get_time", "{}"))], "arguments", told=[EMPTY, ("call_b", "get_time", "{}")]
    ),
    "an-empty-object-and-what-is-none": needing([first("{}"), more("</tool_call>")], "arguments", told=[EMPTY]),
    "an-empty-object-and-then-text": needing([first("{}"), "Done."], "arguments", told=[EMPTY], content="Done."),
    "an-empty-object-broken-off": needing([first("{}")], "arguments", told=[EMPTY], finish="length", expected_finish="length"),
}  # fmt: skip
