"""What is no call comes out byte for byte, whatever the model, however it is cut: prose, code, HTML, data, half markers."""

import pytest

from tests.patterns.family import TOOLS
from tests.support.streams import pieces, play, request, stream
from toolmend.pipeline.pipeline import Pipeline

MODELS = [
    "moonshotai/kimi-k2.5", "qwen/qwen3-coder", "qwen2.5-coder-7b", "deepseek/deepseek-v3.2", "z-ai/glm-4.6", "minimax/minimax-m2",
    "openai/gpt-oss-120b", "mistralai/devstral", "meta-llama/llama-3.3-70b", "google/gemma-4", "ibm-granite/granite-4", "xlam-2-8b",
    "nousresearch/hermes-4", "anthropic/claude-opus-4.8", "acme-1",
]  # fmt: skip

TEXTS = {
    "markdown": """# How it works

Call `read_file` with a *path*; see [the docs](https://example.com/a_b?c=[1]#{x}).

- [ ] a task, [x] done, [^1]: a note
- `<tool_call>` is a tag, `[TOOL_CALLS]` a token, `{"name": "get_time", "arguments": {}}` a call

| a | b |
|---|---|
| < | > |

1 < 2, 3 > 2, a <= b, x << 3, <=>, ->, <-, :<, </, <!, <|, <|x|>, |> and <｜x｜>.
""",
    "python": '''```python
import functools
from typing import Callable

@functools.cache
def f(x: list[dict[str, int]]) -> Callable[[int], str]:
    """Returns [get_time(zone="UTC") for _ in x]."""
    table = [{"name": "get_time", "size": 3}, {"name": "read_file", "args": ()}]
    return [g(y) for y in x if y < 3 and {"a": [1]}][0]
```
and outside: x = [read_file(path) for path in paths]; read_file("a"); call: see above; functools.partial(f, 1)
''',
    "html": """<!DOCTYPE html>
<html><body class="a"><div id='b'>&amp; &lt;tool_call&gt; <br/> <function name> <function name="f"></function> <invoke> <parameter>
<script>if (a<b && c>d) { x = [1, {"y": 2}]; f({name: "z"}) }</script><thinking-cap></thinking-cap>
<tool_calls_are_here> <tool_callx> <function_calls_count> </div></body></html>
""",
    "xml": """<config><call name="x"/><tools><tool_name>read_file</tool_name></tools>
<arg_key>a</arg_key><arg_value>b</arg_value> </function> </parameter> </invoke>
<parameter=path> <parameter name="path">x</parameter> <ns:tool_call> <seed:thing> <minimax:other> <atem:x>
</config>
""",
    "json": """{"id": 1, "items": [{"name": "widget", "size": 3, "tags": ["a", "b"]}, {"name": "get_time", "description": "a tool"}],
 "function": "none", "parameters": {"a": 1}}
[1, 2, [3, {"name": "rm", "arguments": {"path": "/"}}]]
[]
{}
{"name": "Ada", "arguments": "many"}
```json
{"name": "toolmend", "version": "1.0", "dependencies": {}}
```
~~~
[{"path": "a.md"}]
~~~
""",
    "half markers": "<|tool_call <|tool_calls_section_begin <|tool_call_begin|> x <|tool_call_end <｜DSML <｜tool▁call <|chan <|start|> "
    "[TOOL_CALL [TOOL_CALLS <tool_ <tool_call <tool_call>x </tool_call <minimax: ]<]mini ]<] ]<]minimax[> <|open <|python_ta functool "
    'to=func commentary to <start_fun <|"| <|action_ <tool_cal <seed:tool <longcat ◁thi ``` `` ` ~~~ call:get_tim [get_time [get_time( {"nam',
    "tokens between a name and arguments that do not come": "<｜tool▁call▁begin｜>get_time<|channel|>commentary<｜tool▁sep｜><｜tool▁calls▁begin｜> "
    "<|tool_call_begin|>get_time:0<|x|>y</z><|tool_call_argument_begin|>{} <|tool_call_begin|>get_time:0<|x|>y<|tool_call_argument_begin|>none",
    "several languages": '这是一个例子：如果 a < b，则返回 ["结果"]。 これは <例> です。 Это < пример > и {ещё}. 🌤<🌤|🌤>',
    "a tour of agents": "Tools I have: read_file, get_time, write_file. I could call get_time(zone) or read_file. "
    "First, name: get_time. assistant to=user. The final channel is commentary, analysis says json {x}. Function call: none.",
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", TEXTS)
def test_prose_passes(name: str, model: str) -> None:
    text = TEXTS[name]
    offer = request(*TOOLS, model=model)
    for deltas in ([text], list(text), *(pieces(text, seed, (1, 3, 5, 12, 50)) for seed in range(3))):
        body = stream(deltas)
        made = Pipeline(offer)
        assert made.feed(body) + made.close() == body
        assert made.rules == []
        assert play(lambda: Pipeline(offer), [body[at : at + 700] for at in range(0, len(body), 700)]) == body


@pytest.mark.parametrize("model", MODELS)
def test_prose_passes_in_reasoning(model: str) -> None:
    offer = request(*TOOLS, model=model)
    for text in TEXTS.values():
        body = stream(pieces(text, 5), field="reasoning_content")
        made = Pipeline(offer)
        assert made.feed(body) + made.close() == body
