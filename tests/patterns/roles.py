"""Tokens of chat templates that end or begin a turn, left in the text."""

from typing import Any

from tests.support.streams import pieces, request

from . import Pattern
from .family import TOOLS

TIME = [(None, "get_time", '{"zone": "UTC"}')]
JSON = '{"name": "get_time", "arguments": {"zone": "UTC"}}'
HERMES = f"<tool_call>\n{JSON}\n</tool_call>"


def row(model: str, text: str, content: str, rule: str = "", rules: tuple[str, ...] = ("role_tokens",), **more: Any) -> Pattern:
    """A text whose tokens go; one with a call has the `rule` that finds it."""
    calls: dict[str, Any] = {"calls": TIME} if rule else {"expected_finish": "stop"}
    fired = (*((rule, *rules) if not more.get("before") else (*rules, rule)), "finish_reason") if rule else rules
    return Pattern(request(*TOOLS, model=model), pieces(text, len(text)), content=content, rules=fired, **calls)


def text(model: str, said: str) -> Pattern:
    return Pattern(request(*TOOLS, model=model), pieces(said, len(said)), content=said, expected_finish="stop")


PATTERNS: dict[str, Pattern] = {
    "end": row("qwen3-8b", "It is 2.<|im_end|>", "It is 2."),
    "ends-on-lines": row("qwen3-8b", "It is 2.\n<|im_end|>\n<|endoftext|>\n", "It is 2.\n"),
    "end-after-a-fence": row("qwen3-8b", "```py\nx\n```<|im_end|>", "```py\nx\n```"),
    "end-in-the-middle": row("qwen3-8b", "It is 2.<|im_end|>\nIt is 3.", "It is 2.\nIt is 3."),
    "turn-at-the-beginning": row("qwen3-8b", "<|im_start|>assistant\nIt is 2.", "It is 2."),
    "nothing-else": row("qwen3-8b", "<|im_end|>", ""),
    "after-a-call": row("qwen3-8b", f"{HERMES}\n<|im_end|>\n", "", "hermes"),
    "turn-after-a-call": row("qwen3-8b", f"{HERMES}<|im_end|>\n<|im_start|>assistant\nDone.", "Done.", "hermes"),
    "turn-before-a-call": row("qwen3-8b", f"I look.<|im_end|>\n<|im_start|>assistant\n{HERMES}", "I look.", "hermes", before=True),
    "llama": row("llama-3.3-70b", "<|start_header_id|>assistant<|end_header_id|>\n\nIt is 2.<|eot_id|>", "\nIt is 2."),
    "phi": row("phi-4", "<|im_start|>assistant<|im_sep|>It is 2.<|im_end|>", "It is 2."),
    "mistral": row("mistral-large", '[TOOL_CALLS]get_time[ARGS]{"zone": "UTC"}</s>', "", "mistral"),
    "gemma": row("gemma-3-27b", "It is 2.<end_of_turn>\n", "It is 2."),
    "glm": row("glm-4.6", "<|assistant|>\nIt is 2.\n<|user|>", "It is 2.\n"),
    "minimax": row("minimax-m2", "It is 2.[e~[", "It is 2."),
    "kimi": row("kimi-k2", "<|im_assistant|>assistant<|im_middle|>It is 2.<|im_end|>", "It is 2."),
    "kimi-wrapper": row("kimi-k2", "<|tool_calls_section_begin|>It is 2.", "It is 2."),
    "kimi-empty-wrapper": row("kimi-k2", "It is 2.<|tool_calls_section_begin|><|tool_calls_section_end|>", "It is 2."),
    "deepseek": row(
        "deepseek-v3.1", '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜>{"zone": "UTC"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        "<｜end▁of▁sentence｜>", "", "deepseek_v3",
    ),
    "deepseek-output": row("deepseek-v3.1", "Here: <｜tool▁output▁begin｜>22 °C<｜tool▁output▁end｜>, so.", "Here: 22 °C, so."),
    "deepseek-outputs": row(
        "deepseek-v3.1", "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>22<｜tool▁output▁end｜><｜tool▁outputs▁end｜>", "22"
    ),
    "gigachat": row("gigachat-3", "It is 2.<|message_sep|>\n\n", "It is 2."),
    "gigachat-role": row("gigachat-3", "It is 2.<|message_sep|>\n\nuser message<|role_sep|>\nThanks", "It is 2.Thanks"),
    "gigachat-call": row(
        "gigachat-3", f"I look.<|message_sep|>\n\nfunction call<|role_sep|>\n{JSON}<|message_sep|>\n\n", "I look.", "gigachat", before=True
    ),
    **{
        f"near-miss-{name}": text(model, said)
        for name, (model, said) in {
            "prose": ("qwen3-8b", "The <|im_end|> token (<|im_end|>) ends a turn:<|im_end|>\nthen the model stops; it is <|im_end|>"),
            "first-word": ("qwen3-8b", "<|im_end|> is the token that ends a turn."),
            "first-word-of-a-turn": ("qwen3-8b", "<|im_start|> is the token that begins one."),
            "code": ("qwen3-8b", "`<|im_end|>`\n```\n<|im_start|>user\nHi<|im_end|>\n```\n"),
            "template": ("qwen3-8b", "So:\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>"),
            "lines": ("qwen3-8b", "Tokens:\n<|im_start|>\n<|im_end|>\nare two."),
            "html": ("mistral-large", "<s>old</s> new, and <s>x</s>\nis struck out.</s>"),
            "wrappers": ("kimi-k2", "Between <|tool_calls_section_begin|> and <|tool_calls_section_end|> stand the calls."),
            "wrapper-of-no-call": ("kimi-k2", "So. <|tool_calls_section_begin|><|tool_call_begin|>the time, please<|tool_calls_section_end|>"),
            "outputs": ("deepseek-v3.1", "The <｜tool▁output▁begin｜> token opens, `<｜tool▁output▁end｜>` ends."),
            "unknown-model": ("acme-1", "It is 2.<|im_end|>"),
            "cut": ("qwen3-8b", "It is 2.<|im_en"),
        }.items()
    },
}  # fmt: skip
