"""Calls in element dialects, whose closing tags a test damages."""

from toolmend.core.tools import Tools

P = "]<]minimax[>["


W = "<tool_call>\n<function=write>\n{}\n</function>\n</tool_call>"

QWEN, M2 = ("qwen3_coder", "qwen3_named"), ("minimax_m2",)
WRITE = Tools({"write": {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}, "one": {"properties": {"a": {"type": "string"}}}})
