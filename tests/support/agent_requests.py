"""Requests in the shapes that agents send, with made-up content: a first turn, and one after calls.

What is in them was seen on the wire: fields, order, sizes of lists, schemas with `$schema` and unions, several system texts.
"""

from typing import Any

EPHEMERAL = {"cache_control": {"type": "ephemeral"}}
SESSION = '{"device_id":"d0","account_uuid":"","session_id":"0b0e7f2c-5a51-4c65-9d1d-2f0f5f1a9a11"}'
PATH = {"type": "string", "description": "A path"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "Read": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"file_path": PATH, "limit": {"type": "integer", "exclusiveMinimum": 0}}, "required": ["file_path"], "additionalProperties": False},
    "Bash": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}}, "required": ["command"], "additionalProperties": False},
    "TodoWrite": {"type": "object", "properties": {"todos": {"type": "array", "items": {"type": "object", "properties": {"content": {"type": "string", "minLength": 1}, "status": {"type": "string", "enum": ["pending", "done"]}}, "required": ["content", "status"]}}}, "required": ["todos"]},
    "mcp__notes__find": {"type": "object", "anyOf": [{"properties": {"id": {"type": "string"}}, "required": ["id"]}, {"properties": {"text": {"type": "string", "format": "regex"}}, "required": ["text"]}]},
    "mcp__maps__go": {"type": "object", "properties": {"to": {"$ref": "#/$defs/place"}, "by": {"anyOf": [{"type": "string", "const": "foot"}, {"type": "null"}]}, "via": {"type": "array"}}, "$defs": {"place": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}, "required": ["lat", "lon"]}}},
}  # fmt: skip

CLAUDE_CODE: dict[str, Any] = {
    "model": "claude-opus-4-8",
    "max_tokens": 32000,
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.329.0a1; cc_entrypoint=cli; cch=00000;"},
        {"type": "text", "text": "You are a made-up agent.", **EPHEMERAL},
        {"type": "text", "text": "Be brief. " * 40, **EPHEMERAL},
    ],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "<system-reminder>\nIt is night.\n</system-reminder>"}, {"type": "text", "text": "Read a.py", **EPHEMERAL}]}],
    "tools": [{"name": name, "description": f"Does {name}.", "input_schema": schema} for name, schema in SCHEMAS.items()],
    "thinking": {"type": "adaptive", "display": "updates"},
    "output_config": {"effort": "xhigh"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "metadata": {"user_id": SESSION},
    "temperature": 1,
    "stream": True,
}  # fmt: skip

CLAUDE_CODE_LATER: dict[str, Any] = {
    **CLAUDE_CODE,
    "messages": [
        *CLAUDE_CODE["messages"],
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Let me look.", "signature": "c2ln"}, {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_01", "name": "Read", "input": {"file_path": "a.py"}}, {"type": "tool_use", "id": "toolu_02", "name": "Bash", "input": {"command": "ls"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": "x = 1\n"}, {"type": "tool_result", "tool_use_id": "toolu_02", "content": "", "is_error": True}, {"type": "text", "text": "<system-reminder>\nKeep the list.\n</system-reminder>"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "\n\n"}, {"type": "tool_use", "id": "toolu_03", "name": "TodoWrite", "input": {"todos": []}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_03", "content": [{"type": "text", "text": "ok"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}], **EPHEMERAL}]},
        {"role": "system", "content": "The mode has changed."},
    ],
}  # fmt: skip

CLAUDE_CODE_SEARCH: dict[str, Any] = {
    "model": "claude-haiku-5-5",
    "max_tokens": 16000,
    "messages": [{"role": "user", "content": "Perform a web search for the query: tide tables"}],
    "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8, "allowed_domains": ["example.org"]}],
    "tool_choice": {"type": "tool", "name": "web_search"},
    "thinking": {"type": "disabled"},
    "stream": True,
}

CLAUDE_CODE_TITLE: dict[str, Any] = {
    "model": "claude-haiku-5-5",
    "max_tokens": 512,
    "temperature": 0,
    "system": [{"type": "text", "text": "Find a title."}],
    "messages": [{"role": "user", "content": "a talk"}, {"role": "assistant", "content": "{"}],
    "output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {"title": {"type": "string", "maxLength": 40}}, "required": ["title"], "additionalProperties": False}}},
    "stop_sequences": ["\n\n", "END"],
}  # fmt: skip


def _function(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": f"Does {name}.", "strict": False, "parameters": schema}


CODEX: dict[str, Any] = {
    "model": "gpt-5.5",
    "instructions": "You are a made-up agent. " * 20,
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<permissions>read</permissions>"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context/>"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix a.py"}]},
    ],
    "tools": [
        _function("shell", {"type": "object", "properties": {"command": {"type": "array", "items": {"type": "string"}}}, "required": ["command"], "additionalProperties": False}),
        {"type": "custom", "name": "apply_patch", "description": "Edits files.", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}},
        {"type": "web_search", "external_web_access": True, "search_context_size": "low"},
        {"type": "namespace", "name": "mcp__notes", "description": "Notes.", "tools": [_function("find", SCHEMAS["mcp__notes__find"]), _function("go", SCHEMAS["mcp__maps__go"])]},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"effort": "xhigh", "summary": "auto"},
    "text": {"verbosity": "low"},
    "store": False,
    "stream": True,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "0b0e7f2c-5a51-4c65-9d1d-2f0f5f1a9a11",
    "client_metadata": {"x-codex-turn-metadata": "{}"},
}  # fmt: skip

CODEX_LATER: dict[str, Any] = {
    **CODEX,
    "input": [
        *CODEX["input"],
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "**Look**"}], "content": None, "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "\n\n"}]},
        {"type": "function_call", "call_id": "call_" + "x" * 50, "name": "shell", "arguments": '{"command":["ls"]}'},
        {"type": "function_call_output", "call_id": "call_" + "x" * 50, "output": "a.py"},
        {"type": "custom_tool_call", "call_id": "call_2", "name": "apply_patch", "input": "*** Begin Patch\n*** End Patch"},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": ""},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<permissions>write</permissions>"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on"}]},
        {"type": "function_call", "call_id": "call_3", "name": "find", "namespace": "mcp__notes", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_3", "output": [{"type": "input_text", "text": "none"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]},
    ],
}  # fmt: skip


def _chat_tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": SCHEMAS[name]}}


OPENCODE: dict[str, Any] = {
    "model": "m",
    "max_tokens": 32000,
    "temperature": 0.55,
    "top_p": 1,
    "messages": [
        {"role": "system", "content": "You are a made-up agent. " * 20},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Read a.py"},
    ],
    "tools": [_chat_tool(name) for name in SCHEMAS],
    "tool_choice": "auto",
    "stream": True,
    "stream_options": {"include_usage": True},
}

OPENCODE_LATER: dict[str, Any] = {
    **OPENCODE,
    "reasoning_effort": "high",
    "messages": [
        *OPENCODE["messages"],
        {"role": "assistant", "content": "", "reasoning_content": "Look.", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": '{"file_path":"a.py"}'}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "x = 1"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "call_2", "type": "function", "function": {"name": "Bash", "arguments": ""}}]},
        {"role": "tool", "tool_call_id": "call_2", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]},
    ],
}  # fmt: skip

FORCED: dict[str, Any] = {  # as LangChain and others get an object
    "model": "m",
    "messages": [{"role": "user", "content": "Who?", "name": "ann"}],
    "tools": [_chat_tool("Read")],
    "tool_choice": {"type": "function", "function": {"name": "Read"}},
    "parallel_tool_calls": False,
    "temperature": 0,
    "stop": ["a", "b", "c", "d", "e"],
    "user": "ann@example.com",
    "service_tier": "flex",
    "seed": 1,
}

STRUCTURED: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "Who?"}],
    "tools": [_chat_tool("Read")],
    "response_format": {"type": "json_schema", "json_schema": {"name": "who", "strict": True, "schema": {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}, "of": {"oneOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["age", "of"], "additionalProperties": False}}},
    "verbosity": "low",
    "prompt_cache_key": "k" * 100,
}  # fmt: skip

OBJECT: dict[str, Any] = {**STRUCTURED, "response_format": {"type": "json_object"}, "reasoning_effort": "none", "top_p": 0}

AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Claude Code": ("messages", CLAUDE_CODE),
    "Claude Code, later": ("messages", CLAUDE_CODE_LATER),
    "Claude Code's search": ("messages", CLAUDE_CODE_SEARCH),
    "Claude Code's title": ("messages", CLAUDE_CODE_TITLE),
    "Codex": ("responses", CODEX),
    "Codex, later": ("responses", CODEX_LATER),
    "Codex, its context is full": ("responses", {**CODEX_LATER, "input": [*CODEX_LATER["input"], {"type": "compaction_trigger"}]}),
    "opencode": ("chat", OPENCODE),
    "opencode, later": ("chat", OPENCODE_LATER),
    "a forced tool": ("chat", FORCED),
    "a format": ("chat", STRUCTURED),
    "an object": ("chat", OBJECT),
}
