"""Hosts that a request names, and a request that a route takes."""

import json
from typing import Any

OURS, THEIRS = "sk-route-0123456789abcdef", "sk-ant-client-0123456789abcdef"
DEAD = "https://llm.invalid"


def body(evil: str, **more: Any) -> bytes:
    hostile = dict.fromkeys(("api_base", "base_url", "api_url", "endpoint", "host"), evil)
    tool = {"name": "t", "input_schema": {"type": "object", "properties": {"a": {"type": "string"} | hostile}}} | hostile
    asked = {"model": "claude", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hello"}], "tools": [tool]}
    return json.dumps(asked | hostile | more).encode()
