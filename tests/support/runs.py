"""Texts of streams that runs may pass, or must not."""

KIMI = "<|tool_call_begin|>functions.task:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
PROSE = "Let me look at the file first; then we decide – “for sure” – what to do.\n\n- one\n- `two`\n```py\nx = [1]\n```\n" * 12
