"""Any requests of Messages, for Hypothesis."""

import json
from typing import Any

from hypothesis import strategies as st

ROUTER, OPENAI, ANTHROPIC, MODEL = "openrouter.ai", "api.openai.com", "api.anthropic.com", "google/gemini-2.5-flash-next"

WORDS = st.text(min_size=1, max_size=8).filter(str.strip)  # blank text is left out
SIGNS = st.text("abcXYZ019_-", min_size=1, max_size=12)
TOOL_NAMES = st.from_regex(r"\A[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
INPUTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3)
CACHE = st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}])  # of one lifetime, or they lose it
BUDGETS = st.integers(1024, 4000)


def some(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An object of some of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


def short(blocks: list[dict[str, Any]]) -> Any:
    """A text alone is a string."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


@st.composite
def blocks(draw: Any, least: int = 1) -> list[dict[str, Any]]:
    """Text, images and PDFs of Messages."""
    found = []
    for _ in range(draw(st.integers(least, 3))):
        match draw(st.sampled_from(["text", "text", "image", "url", "document"])):
            case "text":
                block = {"type": "text", "text": draw(WORDS)}
            case "image":
                block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": draw(SIGNS)}}
            case "url":
                block = {"type": "image", "source": {"type": "url", "url": f"https://e.com/{draw(SIGNS)}"}}
            case _:
                source = {"type": "base64", "media_type": "application/pdf", "data": draw(SIGNS)}
                block = {"type": "document", "source": source, "title": draw(WORDS)}
        found.append({**block, **draw(CACHE)})
    return found


def texts(least: int) -> Any:
    text = st.builds(lambda words, cache: {"type": "text", "text": words, **cache}, WORDS, CACHE)
    return st.lists(text, min_size=least, max_size=3)


THOUGHTS = st.lists(
    st.builds(lambda text, sign: {"type": "thinking", "thinking": text, "signature": sign}, WORDS, SIGNS)
    | st.builds(lambda data: {"type": "redacted_thinking", "data": data}, SIGNS),
    max_size=2,
)


@st.composite
def talks(draw: Any) -> list[dict[str, Any]]:
    """The messages of Messages; every call has its result, in the order of the calls."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": short(draw(blocks()))}]
    for turn in range(draw(st.integers(0, 3))):
        names = draw(st.lists(TOOL_NAMES, max_size=3))
        said = [*draw(THOUGHTS), *draw(texts(0 if names else 1))]
        ids = [f"toolu_{turn}_{at}" for at in range(len(names))]
        said += [{"type": "tool_use", "id": id_, "name": name, "input": draw(INPUTS)} for id_, name in zip(ids, names, strict=True)]
        messages.append({"role": "assistant", "content": short(said)})
        results = [{"type": "tool_result", "tool_use_id": id_, "content": short(draw(texts(1)))} for id_ in ids]
        messages.append({"role": "user", "content": short(results + draw(blocks(0 if results else 1)))})
    return messages


SCHEMAS = st.builds(
    lambda names, optional: {
        "type": "object",
        "properties": {name: {"type": "string", "enum": ["a"]} for name in names},
        "required": sorted(names),
        **optional,
    },
    st.sets(SIGNS, max_size=3),
    some(description=WORDS),
)
STRICT = SCHEMAS.map(lambda schema: {**schema, "additionalProperties": False})


@st.composite
def tools_and_choice(draw: Any, *, forced: bool) -> dict[str, Any]:
    names = draw(st.lists(TOOL_NAMES, unique=True, max_size=3))
    if not names:
        return {}
    more = some(description=WORDS, cache_control=st.just({"type": "ephemeral", "ttl": "1h"}))
    schema = SCHEMAS.map(lambda given: {"input_schema": given}) | STRICT.map(lambda given: {"input_schema": given, "strict": True})
    said: dict[str, Any] = {"tools": [{"name": name, **draw(schema), **draw(more)} for name in names]}
    kind = draw(st.sampled_from(["", "auto", "none", *(["any", "tool"] if forced else [])]))
    if kind:
        said["tool_choice"] = {"type": kind, **({"name": names[0]} if kind == "tool" else {})}
        if kind != "none" and draw(st.booleans()):
            said["tool_choice"]["disable_parallel_tool_use"] = True
    return said


@st.composite
def messages_requests(draw: Any) -> dict[str, Any]:
    effort = st.sampled_from(["low", "medium", "high"])
    thinking = draw(
        st.sampled_from([{}, {"thinking": {"type": "disabled"}}, {"thinking": {"type": "adaptive"}}])
        | BUDGETS.map(lambda tokens: {"thinking": {"type": "enabled", "budget_tokens": tokens}})
        | effort.map(lambda word: {"thinking": {"type": "adaptive"}, "output_config": {"effort": word}})
    )
    thinks = thinking.get("thinking", {}).get("type") in ("enabled", "adaptive")
    request: dict[str, Any] = {"model": MODEL, "max_tokens": draw(st.integers(5000, 9000)), "messages": draw(talks())}
    request |= draw(tools_and_choice(forced=not thinks))
    calls = '"tool_use"' in json.dumps(request["messages"])
    request |= {"thinking": {"type": "adaptive"}} if calls and "budget_tokens" in str(thinking) else thinking  # no budget without a thought
    if draw(st.booleans()):
        request["output_config"] = {**request.get("output_config", {}), "format": {"type": "json_schema", "schema": draw(STRICT)}}
    sampling = some(temperature=st.floats(0, 1), top_p=st.floats(0, 1), top_k=st.integers(1, 99))
    request |= {} if thinks else draw(sampling)
    return request | draw(
        some(
            system=texts(1).map(short),
            stop_sequences=st.lists(SIGNS, min_size=1, max_size=4),
            metadata=st.builds(lambda user: {"user_id": user}, SIGNS),
            stream=st.just(value=True),
            cache_control=st.just({"type": "ephemeral", "ttl": "1h"}),
        )
    )
