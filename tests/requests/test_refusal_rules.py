"""refusal_rules.py: the first row that matches an upstream's words, per API, and the remedy that it makes."""

import re
from typing import Any

import pytest

from toolmend.requests.edits import edit_of
from toolmend.requests.refusal_rules import COMPILED, RULES, RefusedRequest, Remedy, keyword, less_strict, rule, thinking_kinds
from toolmend.requests.request_limits import Quirks

REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {"messages": [], "tools": [{"function": {"strict": True}}], "tool_choice": "required", "temperature": 1.0, "reasoning_effort": "high"},
    "messages": {"messages": [], "tools": [{"strict": True}], "tool_choice": {"type": "any"}, "thinking": {"type": "adaptive"}},
    "responses": {"input": [], "tools": [{"strict": True}], "text": {"format": {"strict": True}}},
}


def refused(api: str, *, translated: bool = True, **quirks: Any) -> RefusedRequest:
    return RefusedRequest(REQUESTS[api], api, Quirks(**quirks), translated=translated)


def remedy(api: str, text: str, *, translated: bool = True, **quirks: Any) -> Remedy | None:
    for apis, pattern, make in COMPILED:
        if api in apis and (found := pattern.search(text)):
            return make(found, refused(api, translated=translated, **quirks))
    return None


@pytest.mark.parametrize(
    ("api", "text", "path", "facts"),
    [
        ("messages", "This model does not support the effort parameter.", "output_config.effort", {"efforts": ()}),
        ("messages", "tool_choice 'any' not supported for this model", "tool_choice", {"forced_choice": "never"}),
        ("chat", "Thinking mode does not support this tool_choice", "tool_choice", {"thinking": "thinking", "thinks": True, "forced_choice": "unless_thinking"}),
        ("chat", "tool_choice supports only auto", "tool_choice", {"forced_choice": "never"}),
        ("messages", "thinking.type.enabled is not supported for this model", "thinking.type", {"thinking_kinds": ("adaptive",), "display": True}),
        ("chat", "Image exceeds the limit of 5242880 bytes", "messages: image_bytes", {}),
        ("responses", "at most 50 images per request", "input: images", {}),
    ],
)
def test_a_text_has_its_remedy(api: str, text: str, path: str, facts: dict[str, Any]) -> None:
    found = remedy(api, text, thinking_kinds=("enabled", "adaptive"))
    assert found
    assert (found.path, dict(found.facts)) == (path, facts)


@pytest.mark.parametrize("api", REQUESTS)
def test_other_texts_have_none(api: str) -> None:
    for text in ("", "Internal server error", "You exceeded your current quota", "model not found: m", "invalid api key"):
        assert remedy(api, text) is None, text


def test_a_row_is_for_its_apis() -> None:
    text = "does not support the effort parameter"
    assert remedy("messages", text)
    assert remedy("chat", text) is None


def test_within_one_api_edits_change_the_request() -> None:
    text = "tool_choice 'any' not supported for this model"
    own, other = remedy("messages", text, translated=False), remedy("messages", text)
    assert own
    assert other
    assert (own.edits, other.edits) == (("tool_choice",), ())


@pytest.mark.parametrize("row", RULES, ids=lambda row: row[1][:50])
def test_rows_are_sound(row: Any) -> None:
    apis, pattern, make = row
    assert set(apis.split()) <= REQUESTS.keys()
    assert callable(make)
    assert not re.compile(pattern).search("")


@pytest.mark.parametrize(("api", "path"), [("chat", "tools[].function.parameters"), ("messages", "tools[].input_schema"), ("responses", "tools[].parameters")])
def test_rules_of_schemas_are_added_once(api: str, path: str) -> None:
    made = rule("refs root")(None, refused(api, schema_rules=("refs",)))  # type: ignore[arg-type]
    assert made
    assert (made.path, made.edits) == (path, ())
    assert made.facts["schema_rules"] == ("refs", "valid", "root")
    own = rule("refs")(None, refused(api, translated=False))  # type: ignore[arg-type]
    assert own
    assert own.edits == (f"{path} ~ valid refs",)
    edit_of(own.edits[0])


@pytest.mark.parametrize(("name", "facts"), [("pattern", {"schema_lacks": ("pattern",)}), ("$ref", {"schema_rules": ("valid", "refs")}), ("const", {"schema_rules": ("valid", "const")})])
def test_keywords(name: str, facts: dict[str, Any]) -> None:
    assert keyword(name, refused("chat", schema_rules=())).facts == facts


def test_a_keyword_of_the_format_is_removed_there() -> None:
    made = keyword("pattern", refused("messages"), of_format=True)
    assert (made.path, made.edits) == ("output_config.format.schema.pattern", ("output_config.format.schema ~ -pattern",))


@pytest.mark.parametrize(("words", "kinds"), [(("enabled", "disabled"), ("enabled", "disabled")), (("adaptive", "x"), ("adaptive",)), (("x",), None), ((), None)])
def test_kinds_of_thinking(words: tuple[str, ...], kinds: tuple[str, ...] | None) -> None:
    made = thinking_kinds(words, refused("messages"))
    assert (made.facts["thinking_kinds"] if made else None) == kinds


@pytest.mark.parametrize(
    ("api", "text", "path"),
    [
        ("chat", "invalid schema", "tools[].function.strict"),
        ("messages", "invalid schema", "tools[].strict"),
        ("responses", "text.format: invalid schema", "text.format.strict"),
        ("responses", "invalid schema", "tools[].strict"),
    ],
)
def test_strict_is_given_up_where_it_is(api: str, text: str, path: str) -> None:
    found = re.search("invalid", text)
    assert found
    assert less_strict(found, refused(api)).path == path


def test_without_strict_the_format_is_given_up() -> None:
    found = re.search("x", "x")
    assert found
    made = less_strict(found, RefusedRequest({"messages": []}, "chat", Quirks()))
    assert (made.path, made.facts) == ("response_format", {"json_schema": False})
