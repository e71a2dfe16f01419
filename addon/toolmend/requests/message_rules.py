"""Applies an upstream's rules for messages to requests within one API, after the upstream refused one that breaks them.

    user_last        the last message is the user's: a text that asks to continue follows an assistant message
    no_blank         no text is empty or only white space
    system_first     later system messages become the user's text
    json_word        the prompt has the word JSON for the format json_object
    pairs            each call has its result right after it, and each result its call
    reply_after_tool a word of the assistant's stands between a tool and the user
    has_user         there is a message of the user
    text_content     content of text parts only is one string
    described        no tool has an empty description
    top_tools        the tools of the items `additional_tools` are in `tools`
    images_100       at most 100 images, the newest; image_bytes_5242880 and image_pixels_2000 limit the size of each

A rule adds a text, or replaces an image or an empty text; no message and no other text is removed. A request that meets the rule
is returned unchanged. Chat Completions, Messages and Responses are supported.
"""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .image_size import size_of
from .stand_ins import AS_JSON, BEGINNING, CONTINUE, EMPTY, EMPTY_RESULT, ERROR, NO_IMAGE, NO_RESULT, ORPHAN, REMINDER, REPLY

type Object = dict[str, Any]

_IMAGE_RULE = re.compile(r"(?:images|image_bytes|image_pixels)_\d{1,9}")
_OF_SYSTEM = ("system", "developer")
_TEXTS = ("text", "input_text", "output_text")
_IMAGES = ("image", "image_url", "input_image")
_HEAD = 256 * 1024
"""Characters of an image's base64 that are decoded for its size: a JPEG may begin with a preview."""


def is_rule(word: str) -> bool:
    """Whether a word is the name of a rule."""
    return word in _RULES or _IMAGE_RULE.fullmatch(word) is not None


def with_rules(request: Mapping[str, Any], rules: Sequence[str]) -> dict[str, Any]:
    """Returns the request with the rules applied; changed parts are copied."""
    key = "input" if "input" in request else "messages"
    given = request.get(key)
    if not isinstance(given, list) or not all(isinstance(message, dict) for message in given):
        return dict(request)
    changed = dict(request)
    for rule in rules:
        name, _, limit = rule.rpartition("_")
        if limit.isdigit():
            changed[key] = _with_images(changed[key], name, int(limit))
        else:
            changed = _RULES[rule](changed, key)
    return changed


def _user(key: str, text: str) -> Object:
    return {"role": "user", "content": text if key == "messages" else [{"type": "input_text", "text": text}]}


def _user_last(request: Object, key: str) -> Object:
    last = request[key][-1] if request[key] else {}
    if last.get("role") != "assistant" or last.get("tool_calls"):
        return request
    return {**request, key: [*request[key], _user(key, CONTINUE)]}


def _no_blank(request: Object, key: str) -> Object:
    system = request.get("system")
    if isinstance(system, list) and any(map(_is_blank, system)):
        request = {name: given for name, given in request.items() if name != "system"}
        request |= {"system": kept} if (kept := [part for part in system if not _is_blank(part)]) else {}
    messages = [_filled(message) for message in request[key]]
    last = messages[-1] if messages else {}
    if last.get("role") == "assistant":  # "final assistant content cannot end with trailing whitespace"
        messages[-1] = {**last, "content": _stripped(last.get("content"))}
    return {**request, key: messages}


def _filled(message: Object) -> Object:
    content, role = message.get("content"), message.get("role")
    if role == "assistant" and message.get("tool_calls"):
        return {**message, "content": None} if isinstance(content, str) and not content.strip() else message
    if isinstance(content, str) and role and not content.strip():
        return {**message, "content": EMPTY_RESULT if role == "tool" else EMPTY}
    if isinstance(content, list) and any(map(_is_blank, content)):
        parts = [part for part in content if not _is_blank(part)]
        return {**message, "content": parts or [{**content[0], "text": EMPTY}]}
    return message


def _is_blank(part: Any) -> bool:
    text = part.get("text") if isinstance(part, dict) and part.get("type") in _TEXTS else None
    return isinstance(text, str) and not text.strip()


def _stripped(content: Any) -> Any:
    if isinstance(content, str):
        return content.rstrip()
    if isinstance(content, list) and content and isinstance(content[-1], dict) and isinstance(content[-1].get("text"), str):
        return [*content[:-1], {**content[-1], "text": content[-1]["text"].rstrip()}]
    return content


def _system_first(request: Object, key: str) -> Object:
    messages = request[key]
    count = next((at for at, message in enumerate(messages) if message.get("role") not in _OF_SYSTEM), len(messages))
    if key == "messages" and "system" in request:
        count = 0
    ordered = [_joined(messages[:count])] if count > 1 else list(messages[:count])
    waiting: list[Object] = []  # reminders, held until after the results, which directly follow their calls
    for message in messages[count:]:
        if message.get("role") in _OF_SYSTEM:
            waiting.append(_reminder(message))
            continue
        if message.get("role") != "tool" and message.get("type") != "function_call_output":
            ordered += waiting
            waiting = []
        ordered.append(message)
    return {**request, key: [*ordered, *waiting]}


def _joined(messages: Sequence[Object]) -> Object:
    contents = [message.get("content") for message in messages]
    if all(isinstance(content, str) for content in contents):
        return {**messages[0], "content": "\n\n".join(contents)}  # type: ignore[arg-type]
    kind = next(part["type"] for content in contents if isinstance(content, list) for part in content if "type" in part)
    parts = [content if isinstance(content, list) else [{"type": kind, "text": content or ""}] for content in contents]
    return {**messages[0], "content": [part for content in parts for part in content]}


def _reminder(message: Object) -> Object:
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "role": "user", "content": REMINDER.format(content)}
    parts = [
        {**part, "text": REMINDER.format(part["text"])} if isinstance(part, dict) and isinstance(part.get("text"), str) else part
        for part in content or ()
    ]
    return {**message, "role": "user", "content": parts}


def _json_word(request: Object, key: str) -> Object:
    format_ = request.get("response_format") or (request.get("text") or {}).get("format") or {}
    prompt = (*request[key], request.get("instructions"))
    if format_.get("type") != "json_object" or "json" in str(prompt).lower():
        return request
    if key == "input":
        return {**request, "instructions": f"{request.get('instructions') or ''}\n\n{AS_JSON}".strip()}
    instruction = {"role": "system", "content": AS_JSON}
    first, *rest = request[key] or [instruction]
    if first.get("role") not in _OF_SYSTEM:
        return {**request, key: [instruction, first, *rest]}
    return {**request, key: [_joined([first, instruction]), *rest]}


def _pairs(request: Object, key: str) -> Object:
    form = _of_items if key == "input" else _of_blocks if any(map(_has_blocks, request[key])) else _of_chat
    return {**request, key: form(request[key])}


def _has_blocks(message: Object) -> bool:
    return bool(_blocks(message, "tool_use") or _blocks(message, "tool_result"))


def _blocks(message: Object, kind: str) -> list[Object]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _of_chat(messages: list[Object]) -> list[Object]:
    """The messages of Chat Completions with results after their calls; a result without a call becomes the user's."""
    results = _by_id((message.get("tool_call_id"), message) for message in messages if message.get("role") == "tool")
    made: list[Object] = []
    for message in messages:
        if message.get("role") != "tool":
            made.append(message)
            calls = message.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                id_ = call.get("id") if isinstance(call, dict) else None
                missing = {"role": "tool", "tool_call_id": id_, "content": ERROR + NO_RESULT}
                made.append(results[id_].pop(0) if results.get(id_) else missing)
    left = {id(message) for found in results.values() for message in found}
    return made if not left else _with_orphans(messages, made, left)


def _with_orphans(messages: list[Object], made: list[Object], left: set[int]) -> list[Object]:
    """Puts results without a call, as the user's text, before the message that follows them."""
    at = {id(message): place for place, message in enumerate(made)}
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if id(message) in left:
            after = next((at[id(later)] for later in messages[place + 1 :] if id(later) in at), len(made))
            while after < len(made) and made[after].get("role") == "tool":
                after += 1
            made = [*made[:after], {"role": "user", "content": _as_text(message.get("content"))}, *made[after:]]
            at = {id(message): place for place, message in enumerate(made)}
    return made


def _of_blocks(messages: list[Object]) -> list[Object]:
    """The messages of Messages with results at the start of the message after their calls."""
    made: list[Object] = []
    called: list[Any] = []
    for message in messages:
        results = _by_id((block.get("tool_use_id"), block) for block in _blocks(message, "tool_result"))
        first = [results[id_].pop(0) if results.get(id_) else _no_result(id_) for id_ in called]
        if called and message.get("role") != "user":
            made.append({"role": "user", "content": first})
            first = []
        placed = {id(block) for block in first}
        content = message.get("content")
        if first or _blocks(message, "tool_result"):
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            rest = [_orphan(part) for part in parts if id(part) not in placed]
            message = {**message, "content": [*first, *rest]}  # noqa: PLW2901
        made.append(message)
        called = [block.get("id") for block in _blocks(message, "tool_use")]
    return [*made, {"role": "user", "content": [_no_result(id_) for id_ in called]}] if called else made


def _no_result(id_: Any) -> Object:
    return {"type": "tool_result", "tool_use_id": id_, "content": NO_RESULT, "is_error": True}


def _orphan(part: Any) -> Any:
    is_result = isinstance(part, dict) and part.get("type") == "tool_result"
    return {"type": "text", "text": _as_text(part.get("content"))} if is_result else part


def _of_items(items: list[Object]) -> list[Object]:
    """The items of Responses, where a call and its output need not be neighbours."""
    calls = {(item["type"], item.get("call_id")) for item in items if item.get("type") in _OUTPUTS}
    outputs = {(item["type"], item.get("call_id")) for item in items if item.get("type") in _OUTPUTS.values()}
    made: list[Object] = []
    for item in items:
        kind, id_ = item.get("type"), item.get("call_id")
        call = next((call for call, output in _OUTPUTS.items() if output == kind), "")
        if call and (call, id_) not in calls:
            made.append(_user("input", _as_text(item.get("output"))))
            continue
        made.append(item)
        if kind in _OUTPUTS and (_OUTPUTS[kind], id_) not in outputs:
            made.append({"type": _OUTPUTS[kind], "call_id": id_, "output": ERROR + NO_RESULT})
    return made


_OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}


def _by_id(pairs: Iterable[tuple[Any, Object]]) -> dict[Any, list[Object]]:
    found: dict[Any, list[Object]] = {}
    for id_, each in pairs:
        found.setdefault(id_ if isinstance(id_, str) else None, []).append(each)
    return found


def _as_text(content: Any) -> str:
    """A result without a call, as the user's text."""
    texts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
    return ORPHAN.format("\n\n".join(text for text in texts if isinstance(text, str)))


def _reply_after_tool(request: Object, key: str) -> Object:
    made: list[Object] = []
    for message in request[key]:
        if made and made[-1].get("role") == "tool" and message.get("role") == "user":
            made.append({"role": "assistant", "content": REPLY})
        made.append(message)
    return {**request, key: made}


def _has_user(request: Object, key: str) -> Object:
    messages = request[key]
    if any(message.get("role") == "user" for message in messages):
        return request
    count = next((at for at, message in enumerate(messages) if message.get("role") not in _OF_SYSTEM), len(messages))
    return {**request, key: [*messages[:count], _user(key, BEGINNING), *messages[count:]]}


def _text_content(request: Object, key: str) -> Object:
    if key != "messages" or "system" in request:
        return request
    return {**request, key: [message | _as_string(message.get("content")) for message in request[key]]}


def _as_string(content: Any) -> Object:
    if not isinstance(content, list) or not content or not all(isinstance(part, dict) for part in content):
        return {}
    texts = [text for part in content if part.get("type") == "text" and isinstance(text := part.get("text"), str)]
    return {"content": "\n\n".join(texts)} if len(texts) == len(content) else {}


def _described(request: Object, key: str) -> Object:
    request = {name: _with_descriptions(given) if name == "tools" else given for name, given in request.items()}
    items = [{**item, "tools": _with_descriptions(item["tools"])} if "tools" in item else item for item in request[key]]
    return {**request, key: items}


def _with_descriptions(tools: Any) -> Any:
    if not isinstance(tools, list):
        return tools
    return [_with_description(tool) if isinstance(tool, dict) else tool for tool in tools]


def _with_description(tool: Object) -> Object:
    tool = {name: given for name, given in tool.items() if name != "description" or given != ""}
    return tool | {name: inner(tool[name]) for name, inner in _INNER_TOOLS.items() if name in tool}


_INNER_TOOLS: Mapping[str, Callable[[Any], Any]] = {
    "tools": _with_descriptions,
    "function": lambda function: _with_description(function) if isinstance(function, dict) else function,
}


def _top_tools(request: Object, key: str) -> Object:
    moved = [item for item in request[key] if item.get("type") == "additional_tools" and isinstance(item.get("tools", []), list)]
    if not moved or not isinstance(request.get("tools", []), list):
        return request
    tools = [*request.get("tools", []), *(tool for item in moved for tool in item.get("tools", []))]
    left = [item for item in request[key] if not any(item is one for one in moved)]
    return {**request, key: left} | ({"tools": tools} if tools else {})


_RULES: Mapping[str, Callable[[Object, str], Object]] = {
    "user_last": _user_last,
    "no_blank": _no_blank,
    "system_first": _system_first,
    "json_word": _json_word,
    "pairs": _pairs,
    "reply_after_tool": _reply_after_tool,
    "has_user": _has_user,
    "text_content": _text_content,
    "described": _described,
    "top_tools": _top_tools,
}


# images


def _with_images(messages: list[Any], name: str, limit: int) -> list[Any]:
    images = list(_images(messages))
    if name == "images":
        gone = images[: max(len(images) - limit, 0)]
        why = f"at most {limit} images"
    elif name == "image_bytes":
        gone = [image for image in images if len(_data(image)) * 3 // 4 > limit]
        why = f"images of at most {limit} bytes"
    else:
        gone = [image for image in images if max(_pixels(image)) > limit]
        why = f"images of at most {limit} pixels a side"
    gone_ids = {id(image) for image in gone}
    return [_without_images(message, gone_ids, NO_IMAGE.format(why)) for message in messages] if gone_ids else messages


def _images(node: Any) -> Iterator[Object]:
    """The image blocks in messages and tool results, the oldest first."""
    for entry in node if isinstance(node, list) else ():
        if not isinstance(entry, dict):
            continue
        if entry.get("type") in _IMAGES:
            yield entry
        else:
            yield from _images(entry.get("content"))
            yield from _images(entry.get("output"))


def _data(image: Object) -> str:
    """The base64 of an image; empty for a URL or a file."""
    source, url = image.get("source"), image.get("image_url")
    if isinstance(source, dict) and isinstance(data := source.get("data"), str):
        return data
    url = url.get("url") if isinstance(url, dict) else url
    return url.partition(";base64,")[2] if isinstance(url, str) and url.startswith("data:") else ""


def _pixels(image: Object) -> tuple[int, int]:
    head = _data(image)[:_HEAD]
    try:
        return size_of(b64decode(head[: len(head) // 4 * 4])) or (0, 0)
    except (Error, ValueError):
        return (0, 0)


def _without_images(node: Object, gone: set[int], note: str) -> Object:
    changed = node
    for key in ("content", "output"):
        parts = node.get(key)
        if isinstance(parts, list):
            kind = "input_text" if any(isinstance(part, dict) and part.get("type") == "input_image" for part in parts) else "text"
            new = [{"type": kind, "text": note} if id(part) in gone else _inside(part, gone, note) for part in parts]
            changed = {**changed, key: new} if new != parts else changed
    return changed


def _inside(part: Any, gone: set[int], note: str) -> Any:
    return _without_images(part, gone, note) if isinstance(part, dict) else part
