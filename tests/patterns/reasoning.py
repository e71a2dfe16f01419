"""Reasoning in tags inside the content (issue 3, point 4)."""

from dataclasses import replace
from typing import Any

from tests.support.streams import pieces, request

from . import Pattern
from .family import TOOLS
from .kimi import CITY, GET, ONE
from .qwen import BOTH, H, X
from .qwen import REQUEST as QWEN

R1 = request(*TOOLS, model="deepseek/deepseek-r1")
QWEN3 = request(*TOOLS, model="qwen/qwen3-235b-a22b")
CODER = request(*QWEN["tools"], model="qwen/qwen3-coder")
QWQ = request(*QWEN["tools"], model="qwen/qwq-32b")
ACME = request(*TOOLS, model="acme-1")
COHERE = request(*TOOLS, model="cohere/command-a-reasoning")
GEMMA = request(*TOOLS, model="google/gemma-4-27b-it")
GRANITE = request(*TOOLS, model="ibm-granite/granite-3.3-8b")
RULES = ("reasoning_tags",)


def tags(offer: dict[str, Any], text: str, reasoning: str, content: str, seed: int, rules: tuple[str, ...] = RULES) -> Pattern:
    return Pattern(offer, pieces(text, seed), reasoning=reasoning, content=content, expected_finish="stop", rules=rules)


PATTERNS: dict[str, Pattern] = {
    "think": tags(QWEN3, "<think>\nI add 1 and 1.\n</think>\n\nIt is 2.", "I add 1 and 1.\n", "It is 2.", 1),
    "think-one-line": tags(QWEN3, "<think>a < b</think>c", "a < b", "c", 2),
    "thinking": tags(QWEN3, "<thinking>x</thinking> y", "x", "y", 3),
    "diamonds": tags(request(*TOOLS, model="moonshotai/kimi-vl-a3b-thinking"), "◁think▷x◁/think▷y", "x", "y", 4),
    "seed": tags(request(*TOOLS, model="bytedance/seed-oss-36b"), "<seed:think>x</seed:think>y", "x", "y", 5),
    "magistral": tags(request(*TOOLS, model="mistralai/magistral-small"), "[THINK]x[1][/THINK]y", "x[1]", "y", 6),
    "unclosed": Pattern(
        QWEN3, pieces("<think>I add 1 and", 7), reasoning="I add 1 and", finish="length", expected_finish="length", rules=RULES
    ),
    "unopened": tags(R1, "I add 1 and 1.\n</think>\n\nIt is 2.", "I add 1 and 1.\n", "It is 2.", 8),
    "unopened-that-is-no-reasoning": Pattern(
        R1, pieces("It is 2, and <b> is a tag.", 9), content="It is 2, and <b> is a tag.", expected_finish="stop"
    ),
    "native-reasoning-first": Pattern(
        R1, [{"reasoning_content": "I add."}, "It ", "is ", "2."], reasoning="I add.", content="It is 2.", expected_finish="stop"
    ),
    "two-thoughts": tags(QWEN3, "<think>a</think>b\n<think>c</think>d", "ac", "b\nd", 10),
    "in-prose": Pattern(
        QWEN3, pieces("Put it in `<think>` tags, or write <think> in a line.\n```\n<think>\n```", 11),
        content="Put it in `<think>` tags, or write <think> in a line.\n```\n<think>\n```", expected_finish="stop",
    ),
    "unknown-model": Pattern(
        request(*TOOLS, model="acme-1"), pieces("<think>x</think>y", 12), content="<think>x</think>y", expected_finish="stop"
    ),
    "call-behind": replace(
        tags(request(*QWEN["tools"], model="qwen/qwen3-coder"), f"<think>So.</think>\n{X}", "So.", "", 13),
        calls=[(None, "read_file", '{"path": "a.md", "limit": 20}'), (None, "get_time", '{"zone": "UTC"}')],
        rules=("reasoning_tags", "qwen3_coder", "finish_reason"), expected_finish="tool_calls",
    ),
    "kimi-call-inside": replace(
        tags(request(*TOOLS, model="moonshotai/kimi-k2-thinking"), f"<think>So. {ONE}", "So. ", "", 14),
        calls=[(GET[0], GET[1], CITY)], rules=("reasoning_tags", "kimi_k2", "finish_reason"), expected_finish="tool_calls",
    ),
    "calls-that-were-thoughts": tags(CODER, f"<think>Hm. {H}</think>\nIt is 2.", f"Hm. {H}", "It is 2.", 15),
    "calls-that-were-thoughts-unopened": tags(QWQ, f"Hm. {X} so.</think>\nIt is 2.", f"Hm. {X} so.", "It is 2.", 16),
    "calls-then-a-call": replace(
        tags(CODER, f"<think>Hm. {X}</think>\n{H}", f"Hm. {X}", "", 17, ("reasoning_tags", "hermes", "finish_reason")),
        calls=BOTH, expected_finish="tool_calls",
    ),
    "calls-and-the-end": replace(
        tags(CODER, f"<think>Hm. {H}</think>\n", "Hm. ", "", 18, ("reasoning_tags", "hermes", "finish_reason")),
        calls=BOTH, expected_finish="tool_calls",
    ),
    "calls-in-unclosed": replace(
        tags(CODER, f"<think>Hm. {X}", "Hm. ", "", 19, ("reasoning_tags", "qwen3_coder", "finish_reason")),
        calls=BOTH, expected_finish="tool_calls",
    ),
    "calls-that-did-not-begin-inside": replace(
        tags(QWQ, f"Hm. {H} more", "", "Hm.  more", 20, ("hermes", "finish_reason")), calls=BOTH, expected_finish="tool_calls"
    ),
    "mm-think": tags(request(*TOOLS, model="minimax/minimax-m3"), "<mm:think>plan</mm:think>answer", "plan", "answer", 22),
    "cohere": tags(COHERE, "<|START_THINKING|>plan<|END_THINKING|>\n<|START_RESPONSE|>a [1]<|END_RESPONSE|>", "plan", "a [1]", 23),
    "cohere-citations": tags(
        COHERE, "<|START_THINKING|>so <co>x</co: 0:[1]><|END_THINKING|><|START_RESPONSE|>a <co>b</co: 0:[1,2],1:[3]> c<|END_RESPONSE|>", "so x", "a b c", 43
    ),
    "cohere-co-in-text": Pattern(COHERE, pieces("a <co>b</co: 0:[1]>", 44), content="a <co>b</co: 0:[1]>", expected_finish="stop"),
    "cohere-response-alone": tags(COHERE, "<|START_RESPONSE|>a<|END_RESPONSE|>", "", "a", 24),
    "granite": tags(GRANITE, "<think>plan</think><response>a</response>\n", "plan", "a", 25),
    "granite-response-in-the-answer": tags(GRANITE, "<think>plan</think>a <response>b</response>", "plan", "a <response>b</response>", 26),
    "granite-3.2": tags(GRANITE, "Here is my thought process: plan\nHere is my response: a", "plan\n", "a", 27),
    "granite-prose": Pattern(
        GRANITE, pieces("Here is my response: a. Here is my thought process: b.", 28),
        content="Here is my response: a. Here is my thought process: b.", expected_finish="stop",
    ),
    "hunyuan": tags(request(*TOOLS, model="tencent/hunyuan-a13b"), "<think>\nplan\n</think>\n<answer>\na\n</answer>", "plan\n", "a\n", 29),
    "answer-tags-of-a-prompt": tags(QWEN3, "<think>plan</think>\n<answer>a</answer>", "plan", "<answer>a</answer>", 30),
    "tokens-of-an-unknown-model": tags(ACME, "<|START_THINKING|>plan<|END_THINKING|>a", "plan", "a", 31),
    "doubled": tags(QWEN3, "<think>\n<think>plan</think>\n</think>\n\na", "plan", "a", 32),
    "end-in-an-open-fence": tags(QWEN3, "<think>```\nx = 1\n</think>\n\na", "```\nx = 1\n", "a", 33),
    "tags-in-a-fence-of-the-thought": tags(
        QWEN3, "<think>So:\n```\n<think>\nx\n</think>\n```\nFine.</think>a", "So:\n```\n<think>\nx\n</think>\n```\nFine.", "a", 34
    ),
    "lone-end": tags(QWEN3, "I add.\n</think>\n\nIt is 2.", "", "I add.\nIt is 2.", 35, ("reasoning_end",)),
    "lone-end-behind-a-word": tags(QWEN3, "I add.</think>\n\nIt is 2.", "", "I add.\n\nIt is 2.", 36, ("reasoning_end",)),
    "lone-end-of-an-unknown-model": tags(ACME, "I add.\n</think>\n\nIt is 2.", "", "I add.\nIt is 2.", 37, ("reasoning_end",)),
    "gemma-lone-end": tags(GEMMA, "plan<channel|>\na", "", "plan\na", 38, ("reasoning_end",)),
    "gemma-empty": tags(GEMMA, "<|channel>thought\n<channel|>a", "", "a", 39),
    "gemma-late": tags(GEMMA, "a. <|channel>thought\nplan<channel|> b", "plan", "a. b", 40),
    "gemma-channel-without-a-name": tags(GEMMA, "<|channel>plan<channel|>a", "plan", "a", 41),
    **{
        f"near-miss-{name}": Pattern(request(*TOOLS, model=model), pieces(text, 42), content=text, expected_finish="stop")
        for name, (model, text) in {
            "an-end-in-prose": ("qwen/qwen3-8b", "The thought ends at </think> and the answer follows."),
            "both-tags-in-prose": ("qwen/qwen3-8b", "Write (<think>, then </think>)\nThe closer is </think>\nas said."),
            "tags-in-code": ("qwen/qwen3-8b", "`</think>`\n```\n</think>\n```\nis it."),
            "tags-in-a-list": ("acme-1", "Tags:\n<think>\n</think>\nare two."),
            "an-end-behind-a-word": ("acme-1", "so</think>\nis left."),
            "gemma-tokens-in-prose": ("google/gemma-4", "The <channel|> token ends `<|channel>thought`."),
            "tokens-in-code": ("cohere/command-a", "`<|START_THINKING|>` and\n```\n<|START_RESPONSE|>x<|END_RESPONSE|>\n```\n"),
            "reasoning-tags-in-an-answer": ("qwen/qwen3-8b", "It is:\n<reasoning>x</reasoning>\n<thought>y</thought>"),
        }.items()
    },
    "gemma-thought": tags(
        request(*TOOLS, model="google/gemma-4-27b-it"), "<|channel>thought\nI add.\n<channel|>It is 2.", "I add.\n", "It is 2.", 21
    ),
}  # fmt: skip
