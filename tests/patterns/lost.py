"""Calls whose markup is damaged, of another dialect than the model's, or half left in the text, as public reports show them."""

from typing import Any

from tests.support.streams import pieces, request, tool

from . import Pattern
from .family import TOOLS
from .kimi import A, B, C

BASH = tool("bash", command={"type": "string"}, timeout={"type": "integer"})
BASH["function"]["parameters"]["required"] = ["command"]
OFFER = request(*TOOLS, BASH)

type Calls = list[tuple[str | None, str, str]]

LS: Calls = [(None, "bash", '{"command": "ls"}')]
BOTH: Calls = [*LS, (None, "read_file", '{"path": "a.md"}')]
TIME: Calls = [(None, "get_time", '{"zone": "UTC"}')]
JSON = '{"name": "get_time", "arguments": {"zone": "UTC"}}'
LATER = '{"arguments": {"zone": "UTC"}, "name": "get_time"}'
PARAMETER = '<parameter name="command">ls</parameter>'
CODER = "<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>"


def call(model: str, text: str, rule: str | tuple[str, ...], wanted: Calls = LS, **more: Any) -> Pattern:
    rules = rule if isinstance(rule, tuple) else (rule,)
    return Pattern({**OFFER, "model": model}, pieces(text, len(text)), wanted, rules=(*rules, "finish_reason"), **more)


def text(model: str, said: str, **more: Any) -> Pattern:
    """What stays as it is."""
    return Pattern({**OFFER, "model": model, **more}, pieces(said, len(said)), content=said, expected_finish="stop")


ELEMENTS = "<read_file>\n<path>a.md</path>\n</read_file>"
PATTERNS: dict[str, Pattern] = {
    # elements
    "element": call("deepseek-v4", f"I look.\n{ELEMENTS}", "xml_call", BOTH[1:], content="I look.\n"),
    "element-of-an-unknown-model": call("my-model", f"{ELEMENTS}\n{ELEMENTS}", "xml_call", [BOTH[1], BOTH[1]]),
    "element-with-json": call("glm-5", '<bash>{"command": "ls"}</bash>', "xml_call"),
    "element-in-a-wrapper": call("qwen3-8b", f"<tool_call>\n{ELEMENTS}\n</tool_call> ok", ("xml_call"), BOTH[1:], content="\n ok"),
    "element-tags-in-a-value": call(
        "deepseek-v4", "<write_file><path>x</path><content>\na </content> b\n<path>c</path>\n</content></write_file>", "xml_call",
        [(None, "write_file", '{"path": "x", "content": "a </content> b\\n<path>c</path>"}')],
    ),
    "element-types": call("deepseek-v4", "<bash><timeout>30</timeout><command>5</command></bash>", "xml_call", [(None, "bash", '{"timeout": 30, "command": "5"}')]),
    "name-in-an-element": call("deepseek-v4", f"<function>\n<name>bash</name>\n{PARAMETER}\n</function>", "xml_call"),
    "name-in-an-element-of-a-tool": call("my-model", "<tool><name>bash</name><parameters><command>ls</command></parameters></tool>", "xml_call"),
    "name-in-an-element-dsml-ends": call(
        "deepseek-v4", f"<function>\n<name>bash</name>\n{PARAMETER.replace('</', '</｜｜DSML｜｜')}\n</｜｜DSML｜｜invoke>\n</｜｜DSML｜｜tool_calls>",
        ("xml_call", "leftover_markup"),
    ),
    "misspelt-invoke": call("deepseek-v4", f'<rivoke name="bash">\n{PARAMETER}\n</invoke>', "xml_misspelt"),
    "misspelt-parameter": call("deepseek-v4", f'<invoke name="bash">\n{PARAMETER.replace(" name", " rname")}\n</invoke>', "anthropic"),
    "blanks-in-tags": call("deepseek-v4", '< invoke name = "bash" >\n< parameter name = "command" >ls</ parameter >\n</ invoke >', "xml_call"),
    "misspelt-wrapper": call("deepseek-v4", f'<tvoe_calls>\n<invoke name="bash">\n{PARAMETER}\n</invoke>\n</tvoe_calls>', "anthropic"),
    "tags-with-a-colon": call("qwen3-coder-30b", "<tool_call>\n<function: bash>\n<parameter: command>\nls\n</parameter>\n</function>\n</tool_call>", "xml_call", content="\n"),
    "function-underscore": call("qwen3.6-27b", f"<tool_call>\n{CODER.replace('=bash', '_bash')}\n</tool_call>", "xml_call", content="\n"),
    "parameter-for-function": call("qwen3.8-27b", f"<tool_call>\n{CODER.replace('<function', '<parameter')}\n</tool_call>", "xml_call", content="\n"),
    "named-parameters-of-a-function": call("minimax-m2", f"<function=bash>\n{PARAMETER}\n</function>", "qwen3_coder"),
    "call-record": call(
        "gemini-3-pro", f'So.\n<call_record tool="bash">\n{PARAMETER}\n</call_record>\n<call_record tool="read_file">\n'
        '<parameter name="path">a.md</parameter>\n</call_record>', "call_record", BOTH, content="So.\n",
    ),
    "grok": call("my-model", f'<xai:function_call name="bash">\n{PARAMETER}\n</xai:function_call>', "grok"),
    "grok-native": Pattern(
        {**OFFER, "model": "grok-4.1-fast"},
        [
            {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "a &am'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": 'p;&amp; &quot;b&quot;"}'}}]},
        ],
        [("c", "bash", '{"command": "a && \\"b\\""}')], finish="tool_calls", rules=("argument_entities",),
    ),
    "element-with-a-foreign-end": call("my-model", "<read_file>\n<path>a.md</file>\n<limit>2</limits>\n</read_file>", "xml_call",
        [(None, "read_file", '{"path": "a.md", "limit": 2}')]),
    "element-twice": call("my-model", "<read_file>\n<path>x</path>\n<path>a.md</path>\n</read_file>", ("repeated_parameter", "xml_call"), BOTH[1:]),
    "elements-that-are-no-calls": text(
        "deepseek-v4",
        f"Use `{ELEMENTS}`:\n```\n{ELEMENTS}\n```\nSay {ELEMENTS}\n<read_file>\n<path>a.md</path>\n</read_file>\nand then wait.\n"
        "<read_file>\n<file>a.md</file>\n</read_file>\n<bash>\n<timeout>3</timeout>\n</bash>\n<rm><path>a</path></rm>\n<bash>ls</bash>\n"
        '<function><name>rm</name></function>\n<tool_calls>\nnone\n</tool_calls>\n<div>\n<p>x</p></div>\n<rivoke name="rm"></invoke>',
    ),
    # wrappers, and what is left of them
    "words-in-a-wrapper": call("nemotron-3-nano", f"<tool_call>Let me check that.{CODER}</tool_call>", "qwen3_coder", content="Let me check that."),
    "wrapper-of-another-dialect": call("doubao-seed-2", f'<seed:tool_call>\n<function name="bash">\n{PARAMETER}\n</function>\n</seed:tool_call>', "qwen3_named"),
    "wrapper-without-its-mark": call(
        "deepseek-v4", '< calls>\n<|DSML|invoke name="bash">\n<|DSML|parameter name="command" string="true">ls</|DSML|parameter>\n'
        "</|DSML|invoke>\n</|DSML|calls>", "dsml",
    ),
    "wrapper-without-its-end": call(
        "deepseek-v4", '<｜DSML｜tool_calls\n<｜DSML｜invoke name="bash">\n<｜DSML｜parameter name="command" string="true">ls</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜tool_calls>", "dsml",
    ),
    "tags-over-lines": call(
        "deepseek-v4", '<|DSML|\n calls>\n<|DSML|\ninvoke name="bash">\n<|DSML|\nparameter name="command" string="true">ls</|DSML|\nparameter>\n'
        "</|DSML|\ninvoke>\n</|DSML|\n calls>", "dsml",
    ),
    "empty-wrapper-in-front": call("xlam-2-8b", f"<tool_call></tool_call>\n[{JSON}]", "json_array", TIME),
    "wrapper-around-an-array": call("xlam-2-8b", f"<tool_call>[{JSON}]</tool_call>", "hermes", TIME),
    "empty-wrapper-behind": call("qwen3-8b", f"<tool_call>{JSON}</tool_call>\n<tool_call>\n</tool_call>", ("hermes", "leftover_markup"), TIME),
    "end-of-another-dialect": call("llama-3.3-nemotron-super-49b", f"[{JSON}]</TOOLCALL> ok", ("json_array", "leftover_markup"), TIME, content=" ok"),
    "end-of-another-wrapper": call("qwen2.5-coder:32b", f"<tools>\n{JSON}\n</tool_call>", ("json_tools", "leftover_markup"), TIME),
    "wrapper-in-prose": text(
        "qwen3-8b", "The <tool_call> tag opens a call, </tool_call> ends it.\n<tool_call>\n<tool_call></tool_call>\n<tool_call>Let me check that.\n</tool_call>"
        f"\n<tool_call>See `{CODER}`</tool_call>"
    ),
    # JSON
    "nemotron": call("llama-3.3-nemotron-super-49b", f"<TOOLCALL>[{JSON}]</TOOLCALL>", "nemotron", TIME),
    "no-opener": call("hermes-4-405b", f"So.\n{JSON}\n</tool_call>", "hermes_openerless", TIME, content="So.\n"),
    "no-opener-arguments-first": call("hermes-4-405b", f"{LATER}</tool_call>", "hermes_openerless", TIME),
    "no-opener-broken-off": text("hermes-4-405b", f"So.\n{JSON[:41]}"),
    "half-an-opener": call("qwen3-8b", f"tool_call>\n{JSON}\n</tool_call>", "hermes_openerless", TIME),
    "arguments-first": call("llama-3.2-3b", LATER, "json_object", TIME),
    "list-of-calls": call("devstral-small-2507", f'{{\n  "tool_calls": [\n {JSON}, {LATER}\n]\n}}', "json_object", TIME * 2),
    "tool-and-args": call("llama-3.2-3b", JSON.replace('"name"', '"tool"').replace("arguments", "args"), "json_object", TIME),
    "recipients": call(
        "llama-3.2-3b", '{"tool_uses": [{"recipient_name": "functions.get_time", "parameters": {"zone": "UTC"}}]}', "json_object", TIME,
    ),
    "fence": call("llama3.2:3b", f"So.\n```json\n{JSON}\n```", "fence", TIME, content="So.\n"),
    "action": call("command-r:35b", 'Action: ```json\n[\n {"tool_name": "get_time", "parameters": {"zone": "UTC"}}\n]\n```', "cohere_action", TIME),
    "action-input": call("command-r:35b", 'Plan: none\nAction: get_time\nAction Input: {"zone": "UTC"}', "cohere_action", TIME, content="Plan: none\n"),
    **{
        f"json-{name}": call("qwen3-8b", f'<tool_call>\n{{"name": "bash", "arguments": {{{given}}}}}\n</tool_call>', "hermes", [(None, "bash", wanted)])
        for name, (given, wanted) in {
            "quotes": ('"command": "echo "hi" "x, y", ""', '{"command": "echo \\"hi\\" \\"x, y\\", \\""}'),
            "quotes-before-another": ('"command": "say "b", and "c"", "timeout": 1', '{"command": "say \\"b\\", and \\"c\\"", "timeout": 1}'),
            "names": ('command: "a: b", timeout : 1', '{"command": "a: b", "timeout" : 1}'),
            "apostrophe": ('"command": "it\\\'s"', '{"command": "it\'s"}'),
            "comments": ('"command": "a // b" // c\n, /* d */ "timeout": 1 # e\n', '{"command": "a // b" \n,  "timeout": 1 \n}'),
            "missing-comma": ('"command": "ls"\n "timeout": 1', '{"command": "ls",\n "timeout": 1}'),
            "blanks": (f'"command": "ls"{" " * 70},{" " * 70}"timeout": 1', f'{{"command": "ls"{" " * 70},{" " * 70}"timeout": 1}}'),
        }.items()
    },
    "json-missing-brackets": call("qwen3-8b", '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"\n</tool_call> ok', "hermes",
        [(None, "bash", '{"command": "ls"\n}')], content=" ok"),
    "json-without-quotes": call("qwen3-8b", '<tool_call>\n{name: "bash", arguments: {command: "ls"}}\n</tool_call>', "hermes"),
    "json-and-a-foreign-end": call("qwen3-8b", '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</arguments>\n</tool_call>', "hermes"),
    "array-with-a-bracket-more": call("xlam-2-8b", f"[{JSON}]]", "json_array", TIME),
    "array-that-breaks-off": call("mistral-large", f"[TOOL_CALLS] [{JSON}, ", "mistral", TIME),
    "thought-of-a-template": call("xlam-2-8b", f"</think>[{JSON}]", ("reasoning_end", "json_array"), TIME),
    "list-twice": call("lfm2-8b", '<|tool_call_start|>[get_time(zone="UTC")]<|tool_call_end|>[get_time(zone="UTC")]<|im_end|>',
        ("lfm2", "duplicate_call", "role_tokens"), TIME),
    "list-and-another": call("lfm2-8b", '<|tool_call_start|>[get_time(zone="UTC")]<|tool_call_end|>[get_time(zone="x")]', ("lfm2", "python_list"),
        [*TIME, (None, "get_time", '{"zone": "x"}')]),
    "end-in-front-of-a-real-call": Pattern(
        {**OFFER, "model": "qwen3-8b"},
        ["So.\n</tool_", "call>\n", {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]}],
        [("c", "bash", '{"command": "ls"}')], content="So.\n", finish="tool_calls", rules=("leftover_markup",),
    ),
    "json-that-is-no-call": text(
        "hermes-4-405b", f'{JSON} is what follows <tool_call>.\n{JSON}\n```json\n{JSON}\n```\n{{"name": "rm", "arguments": {{}}}}</tool_call>\n'
        '{"tool_calls": []}\n{"tool_calls": [{"name": "x"}]}',
    ),
    "actions-that-are-no-calls": text(
        "command-r:35b", 'Action: wait\nAction: rm\nAction Input: {}\nAn Action: get_time\nAction: `get_time`\nAction: ```json\n{"a": 1}\n```\nAction:',
    ),
    "arrow": call("minimax-m2", 'I run it.\n[TOOL_CALL]\n{tool => "bash", args => {\n  --command "ls"\n  --timeout 30\n}}\n[/TOOL_CALL]', "minimax_arrow",
        [(None, "bash", '{"command": "ls", "timeout": 30}')], content="I run it.\n"),
    "arrow-json": call("minimax-m2", '[TOOL_CALL]{"tool": "bash", "args": {"command": "ls"}}[/TOOL_CALL]', "minimax_arrow"),
    "arrow-in-prose": text(
        "minimax-m2", '[TOOL_CALL] or `[TOOL_CALL] {tool => "bash", args => {--command "ls"}} [/TOOL_CALL]`: [TOOL_CALL] {tool => "rm"}, '
        '[TOOL_CALL] {tool => "bash", args => {--command ls -la}} [/TOOL_CALL]',
    ),
    "indented-fence-in-front": call("qwen3-8b", f"A line:\n\n    ```\n<tool_call>\n{CODER}\n</tool_call>", "qwen3_coder", content="A line:\n\n    ```\n"),
    "fence-in-a-fence-in-front": call(
        "qwen3-8b", f"```md\n```sh\nls\n```\n```\n<tool_call>\n{CODER}\n</tool_call>", "qwen3_coder", content="```md\n```sh\nls\n```\n```\n",
    ),
    "tag-of-a-thought-in-a-wrapper": text("kimi-k2", "<｜tool▁calls▁begin｜>a<think>\n<tool_call>b</think>\n<|tool_calls_section_begin|>c<think>\n"),
    "channel-in-a-wrapper": call(
        "kimi-k2", '<｜DSML｜function_calls>So <|channel|>commentary to=functions.bash<|message|>{"command": "ls"}<|call|>', "harmony", content="So ",
    ),
    "call-in-a-nested-fence": text("qwen3-8b", f"```md\n```sh\nls\n```\n<tool_call>\n{CODER}\n</tool_call>\n```\n- a\n\n    ```\n    {CODER}\n    ```\n"),
    "k3-fused": call(
        "kimi-k3", '<|sep|><|open|>toolscall tool="bash" index="1"<|sep|><|open|>argument key="command" type="string"<|sep|>ls<|close|>argument<|sep|>'
        '<|close|>callcall tool="read_file" index="2"<|sep|><|open|>argument key="path" type="string"<|sep|>a.md<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>toolsmessage<|sep|>", "kimi_k3", BOTH,
    ),
    "k3-misspelt": call(
        "kimi-k3", '<|open|>tools<|sp|><|open|>call tool="bash" index="1"<|sep><|open|>argument key="command" type="string"<|spe|>ls<|close|>argument<|sop|>'
        "<|close|>call<|sep|><|close|>tools<sep>", "kimi_k3",
    ),
    "cut": call("qwen3-coder-next", CODER.replace("<function", "function") + "\n</tool_call>", "qwen3_cut"),
    "cut-in-a-wrapper": call("qwen3-coder-next", f"So.\n<tool_call>\n{CODER.replace('<function', 'function').replace('<para', 'para')}\n</tool_call>", "qwen3_cut", content="So.\n"),
    "cut-that-is-none": text("qwen3-coder-next", "function=bash> or\nfunction=rm>\n<parameter=a>\nfunction=bash>\nls\n`\nfunction=bash>`\n"),
    "end-of-a-foreign-parameter": call("qwen3-coder-next", CODER.replace("\n</parameter>", "</content>"), "qwen3_coder"),
    "names-of-tokens": text("kimi-k2", f"The call stands between {B} and {C}, or <｜tool▁call▁begin｜> and <｜tool▁call▁end｜>."),
    # names
    "gemma-headless": call("gemma-4-e4b-it", 'So.\nread_file{path:<|"|>a.md<|"|>}<tool_call|>', "gemma_headless", BOTH[1:], content="So.\n"),
    "gemma-headless-end": call("gemma-4-e4b-it", "read_file{path:'a.md'}<tool_call|>", "gemma_headless", BOTH[1:]),
    "gemma-module": call("gemma-4-26b", "<|tool_call>call:google:mcp:read_file{path:'a.md'}<tool_call|>", "gemma4", BOTH[1:]),
    "gemma-that-is-no-call": text(
        "gemma-4-e4b-it", 'read_file{path:a.md} or `read_file{path:<|"|>a<|"|>}<tool_call|>`; a read_file{path:"x"}<tool_call|>, readme, bash{x}\n'
        'rm{path:<|"|>a<|"|>}\nread_file{file:<|"|>a<|"|>}\nread_file {}\n<|tool_call>call:google:mcp:rm{path:<|"|>a<|"|>}<tool_call|>',
    ),
    "kimi-fused-ids": call("kimi-k2", f'{B}functionsbash5{A}{{"command": "ls"}}{C}{B}functions.read_file6{A}{{"path": "a.md"}}{C}', "kimi_k2",
        [("functionsbash5", *LS[0][1:]), ("functions.read_file6", *BOTH[1][1:])]),
    "kimi-odd-ids": call(
        "kimi-k2", f'{B}tool.bash:0{A}{{"command": "ls"}}{C}{B}functions.read_file#1{A}{{"path": "a.md"}}{C}{B}functions.get_time:{A}{{"zone": "UTC"}}{C}', "kimi_k2",
        [("tool.bash:0", *LS[0][1:]), ("functions.read_file#1", *BOTH[1][1:]), ("functions.get_time:", *TIME[0][1:])]),
    "kimi-foreign-ids": call(
        "kimi-k2", f'{B}functions_bash_1{A}{{"command": "ls"}}{C}{B}call_9f31ab{A}{{"name": "read_file", "arguments": {{"path":"a.md"}}}}{C}'
        f'{B}toolu_01Ab{A}{{"zone": "UTC"}}{C}', "kimi_k2",
        [("functions_bash_1", *LS[0][1:]), ("call_9f31ab", "read_file", '{"path":"a.md"}'), ("toolu_01Ab", *TIME[0][1:])],
    ),
    "kimi-no-id": call("kimi-k2", f'{B}{A}{{"zone": "UTC"}}{C}{B}{JSON}{C}', "kimi_k2",
        [("functions.get_time:0", *TIME[0][1:]), ("functions.get_time:1", "get_time", '{"zone":"UTC"}')]),
    "kimi-id-that-fits-none": text("kimi-k2", f'{B}call_9f31ab{A}{{"town": 1}}{C} and {B}functions_rm_1{A}{{"x": 1}}{C} or {B}{A} and {B}{A}{{"x": 2}}{C}'),
    "recipient": call("gpt-5.3-codex", 'assistant to=functions.bash commentary json\n{"command": "ls"}', "harmony_recipient"),
    "recipient-that-is-none": text(
        "gpt-5.3-codex", 'It says to=functions.bash or to=functions.rm {"a": 1}, assistant to=bash {"a": 1}, analysis of commentary: to=functions.bash [1]',
    ),
    "no-call-allowed": text("deepseek-v4", f'I may not.\n{ELEMENTS}\n<｜DSML｜invoke name="bash"></｜DSML｜invoke>', tool_choice="none"),
}  # fmt: skip
