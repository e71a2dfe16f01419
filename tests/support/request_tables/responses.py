"""Requests of OpenAI Responses, and what is read of each."""

import json
from typing import Any

from toolmend.core.reasoning_state import ReasoningState, envelope
from toolmend.requests.conversation import (
    Document,
    Format,
    Image,
    Other,
    Reasoning,
    RefusalPart,
    TextPart,
    ThinkingPart,
    Tool,
    ToolChoice,
    ToolResult,
    ToolUse,
    Turn,
)

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
USER = Turn("user", (TextPart("Read a.py"),))


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(parts)}


def put(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def got(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text}


def call(number: int = 1, name: str = "read", arguments: str = '{"path":"a.py"}') -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"call_{number}", "name": name, "arguments": arguments}


def output(number: int = 1, text: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": text}


def use(number: int = 1, name: str = "read", arguments: str = '{"path":"a.py"}') -> ToolUse:
    return ToolUse(f"call_{number}", name, arguments)


def result(number: int = 1, *parts: Any) -> ToolResult:
    return ToolResult(f"call_{number}", parts or (TextPart("done"),))


def encrypted(id_: str = "rs_1", content: str = "gAA") -> ReasoningState:
    return ReasoningState("encrypted", json.dumps({"id": id_, "encrypted_content": content}, separators=(",", ":")))


PNG = Image(data="iVBO", media_type="image/png")
PNG_PART = {"type": "input_image", "image_url": "data:image/png;base64,iVBO", "detail": "auto"}
PDF = Document(data="JVBE", media_type="application/pdf", title="a.pdf")
PDF_PART = {"type": "input_file", "file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"}

# input items that are written as they are read, and their turns
SAME: list[tuple[str, list[dict[str, Any]], list[Turn]]] = [
    ("user", [said("user", put("Read a.py"))], [USER]),
    ("parts", [said("user", put("a"), PNG_PART, put("b"))], [Turn("user", (TextPart("a"), PNG, TextPart("b")))]),
    ("image url", [said("user", {"type": "input_image", "image_url": "https://a.example/a.png", "detail": "low"})],
     [Turn("user", (Image(url="https://a.example/a.png", detail="low"),))]),
    ("image file", [said("user", {"type": "input_image", "file_id": "file_1", "detail": "auto"})], [Turn("user", (Image(file_id="file_1"),))]),
    ("file", [said("user", PDF_PART)], [Turn("user", (PDF,))]),
    ("file url", [said("user", {"type": "input_file", "file_url": "https://a.example/a.pdf"})],
     [Turn("user", (Document(url="https://a.example/a.pdf"),))]),
    ("file id", [said("user", {"type": "input_file", "file_id": "file_1"})], [Turn("user", (Document(file_id="file_1"),))]),
    ("roles", [said("developer", put("d")), said("user", put("u")), said("system", put("s"))],
     [Turn("developer", (TextPart("d"),)), Turn("user", (TextPart("u"),)), Turn("system", (TextPart("s"),))]),
    ("two users", [said("user", put("a")), said("user", put("b"))], [Turn("user", (TextPart("a"),)), Turn("user", (TextPart("b"),))]),
    ("assistant", [said("user", put("u")), said("assistant", got("a"), got("b"))],
     [Turn("user", (TextPart("u"),)), Turn("assistant", (TextPart("a"), TextPart("b")))]),
    ("refusal", [said("assistant", {"type": "refusal", "refusal": "No."})], [Turn("assistant", (RefusalPart("No."),))]),
    ("call", [call(), output()], [Turn("assistant", (use(),)), Turn("tool", (result(),))]),
    ("calls are one turn", [said("assistant", got("I read.")), call(1), call(2), output(1), output(2)],
     [Turn("assistant", (TextPart("I read."), use(1), use(2))), Turn("tool", (result(1), result(2)))]),
    ("text behind a call", [call(), said("assistant", got("Reading.")), output()],
     [Turn("assistant", (use(), TextPart("Reading."))), Turn("tool", (result(),))]),
    ("one after the other", [call(1), output(1), call(2), output(2)],
     [Turn("assistant", (use(1),)), Turn("tool", (result(1),)), Turn("assistant", (use(2),)), Turn("tool", (result(2),))]),
    ("output of parts", [call(), output(1, [put("a"), PNG_PART, PDF_PART])],
     [Turn("assistant", (use(),)), Turn("tool", (result(1, TextPart("a"), PNG, PDF),))]),
    ("output of nothing", [call(), output(1, "")], [Turn("assistant", (use(),)), Turn("tool", (ToolResult("call_1"),))]),
    ("custom", [{"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": '*** Begin\n"{'},
                {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"}],
     [Turn("assistant", (ToolUse("call_1", "apply_patch", '*** Begin\n"{', "custom"),)),
      Turn("tool", (ToolResult("call_1", (TextPart("ok"),), kind="custom"),))]),
    ("reasoning", [{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAA"}, call()],
     [Turn("assistant", (ThinkingPart("hm", encrypted()), use()))]),
    ("reasoning without words", [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAA"}, said("assistant", got("a"))],
     [Turn("assistant", (ThinkingPart("", encrypted()), TextPart("a")))]),
    ("what only Responses has", [{"type": "mcp_list_tools", "id": "c", "tools": []}, {"type": "mcp_approval_response", "approval_request_id": "c"}],
     [Turn("assistant", (Other("responses", {"type": "mcp_list_tools", "id": "c", "tools": []}),)),
      Turn("user", (Other("responses", {"type": "mcp_approval_response", "approval_request_id": "c"}),))]),
    ("audio", [said("user", put("a"), {"type": "input_audio", "input_audio": {"data": "", "format": "mp3"}})],
     [Turn("user", (TextPart("a"), Other("responses", {"type": "input_audio", "input_audio": {"data": "", "format": "mp3"}})))]),
]  # fmt: skip

# what is read as something else than it is written
READ: list[tuple[str, Any, list[Turn]]] = [
    ("a string", "Read a.py", [USER]),
    ("an empty string", "", []),
    ("null", None, []),
    ("a string in a message", [{"role": "user", "content": "Read a.py"}], [USER]),
    ("no type", [{"role": "assistant", "content": [got("a")]}], [Turn("assistant", (TextPart("a"),))]),
    ("empty texts", [said("user", put(""), put("a")), said("assistant", got("")), said("system")], [Turn("user", (TextPart("a"),))]),
    ("an empty user", [said("user")], [Turn("user")]),
    ("no call_id", [{**call(), "call_id": None, "id": "fc_1"}], [Turn("assistant", (ToolUse("fc_1", "read", '{"path":"a.py"}'),))]),
    ("both ids", [{**call(), "id": "fc_1"}], [Turn("assistant", (use(),))]),
    ("no arguments", [call(arguments="")], [Turn("assistant", (use(arguments="{}"),))]),
    ("a namespace", [{**call(), "namespace": "mcp__files"}], [Turn("assistant", (use(name="mcp__files__read"),))]),
    ("the namespace functions", [{**call(), "namespace": "functions"}], [Turn("assistant", (use(),))]),
    ("an image without detail", [said("user", {"type": "input_image", "image_url": "https://a.example/a.png"})], [Turn("user", (Image(url="https://a.example/a.png"),))]),
    ("our own envelope", [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": envelope(ReasoningState("details", "[1]"))}],
     [Turn("assistant", (ThinkingPart("", ReasoningState("details", "[1]")),))]),
    ("reasoning in full", [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "content": [{"type": "reasoning_text", "text": "a"}, {"type": "reasoning_text", "text": "b"}]}],
     [Turn("assistant", (ThinkingPart("a\n\nb"),))]),
    ("a text file", [said("user", {"type": "input_file", "file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"})],
     [Turn("user", (Document(text="hi", title="a.txt"),))]),
    ("a text file that is none", [said("user", {"type": "input_file", "file_data": "data:text/plain;base64,/w==", "filename": "a.txt"})],
     [Turn("user", (Document(data="/w==", media_type="text/plain", title="a.txt"),))]),
    ("tools between calls", [call(1), {"type": "additional_tools", "role": "developer", "tools": []}, call(2)], [Turn("assistant", (use(1), use(2)))]),
]  # fmt: skip

# fields of the request, written as they are read, and those of the conversation
FIELDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_output_tokens": 100}, {"max_tokens": 100}),
    ({"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}),
    ({"user": "u1"}, {"user": "u1"}),
    ({"stream": True}, {"stream": True}),
    ({"text": {"format": {"type": "json_object"}}}, {"format": Format("json_object")}),
    ({"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "description": "d", "strict": False}}}, {"format": Format("json_schema", SCHEMA, "n", strict=False, description="d")}),
    ({"reasoning": {"effort": "high", "summary": "auto"}, "include": ["reasoning.encrypted_content"]}, {"reasoning": Reasoning(effort="high", summary="auto")}),
    ({"reasoning": {"effort": "none"}}, {"reasoning": Reasoning(enabled=False)}),
    (
        {"instructions": "Be short.", "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read a.py"}]}]},
        {"turns": (Turn("system", (TextPart("Be short."),)), USER)},
    ),
    *(
        ({"tools": [tool]}, {"tools": (read,)})
        for tool, read in [
            ({"type": "function", "name": "read", "description": "d", "parameters": SCHEMA, "strict": True}, Tool("read", "d", SCHEMA, strict=True)),
            ({"type": "function", "name": "now", "parameters": None, "strict": False}, Tool("now", strict=False)),
            ({"type": "custom", "name": "apply_patch", "description": "d", "format": GRAMMAR}, Tool("apply_patch", "d", kind="custom", format=GRAMMAR)),
            ({"type": "web_search"}, Other("responses", {"type": "web_search"})),
            ({"type": "mcp", "server_label": "x"}, Other("responses", {"type": "mcp", "server_label": "x"})),
        ]
    ),
]

TOOLS = [{"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}, {"type": "custom", "name": "apply_patch"}]
FIELDS += [
    ({"tools": TOOLS, "tool_choice": choice}, {"tools": (Tool("read", None, SCHEMA, strict=False), Tool("apply_patch", kind="custom")), "tool_choice": read})
    for choice, read in [
        ("auto", ToolChoice("auto")),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ({"type": "function", "name": "read"}, ToolChoice("tool", ("read",))),
        ({"type": "custom", "name": "apply_patch"}, ToolChoice("tool", ("apply_patch",))),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "read"}, {"type": "custom", "name": "apply_patch"}]},
            ToolChoice("required", ("read", "apply_patch")),
        ),
    ]
]
FIELDS.append(({"tools": TOOLS[1:], "parallel_tool_calls": False}, {"tools": (Tool("apply_patch", kind="custom"),), "parallel": False}))

NAMESPACE = {
    "type": "namespace",
    "name": "mcp__files",
    "description": "Files of the user.",
    "tools": [{"type": "function", "name": "read", "description": "Reads.", "parameters": SCHEMA}, {"type": "custom", "name": "write"}],
}

CODEX = {
    "model": "gpt-5.2-codex",
    "instructions": "You are a coding agent.",
    "input": [
        said("developer", put("<permissions>")),
        said("user", put("<environment_context>")),
        said("user", put("Fix a.py")),
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": envelope(ReasoningState("plain", ""))},
        call(1, "shell", '{"command":["cat","a.py"]}'),
        {**call(2), "namespace": "mcp__files"},
        said("assistant", got("Let me see.")),
        output(2, [put("b"), PNG_PART]),
        output(1, "a"),
        {"type": "custom_tool_call", "call_id": "call_3", "name": "apply_patch", "input": "*** Begin Patch\n"},
        {"type": "custom_tool_call_output", "call_id": "call_3", "output": "ok"},
        said("user", put("Thanks")),
    ],
    "tools": [
        {"type": "function", "name": "shell", "description": "Runs.", "strict": False, "parameters": {"type": "object", "properties": {"command": {"type": "array"}}}},
        {"type": "custom", "name": "apply_patch", "description": "Edits files.", "format": GRAMMAR},
        NAMESPACE,
        {"type": "web_search", "external_web_access": False},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "store": False,
    "stream": True,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "k",
}

CLAUDE_CODE = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 32000,
    "system": [{"type": "text", "text": "You are Claude Code.", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "Look", "cache_control": {"type": "ephemeral"}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": envelope(encrypted())},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.png"}},
                {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": True},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}]},
                {"type": "text", "text": "Go on"},
            ],
        },
    ],
    "tools": [{"name": "Read", "description": "Reads.", "input_schema": SCHEMA}, {"name": "Bash", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 31999},
    "metadata": {"user_id": "user_1"},
    "stream": True,
}
