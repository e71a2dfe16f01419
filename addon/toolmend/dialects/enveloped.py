"""Dialects that are JSON envelopes behind tokens of their own.

    Llama 3, 4        <|python_tag|>{"name": "N", "parameters": {…}}; {…}
    Granite 3.0-3.3   <|tool_call|>[{"name": "N", "arguments": {…}}]         granite-20b: <function_call> {…}
    Phi-4-mini        functools[{"name": "N", "arguments": {…}}]
    InternLM2         <|action_start|><|plugin|>\\n{"name": "N", "parameters": {…}}<|action_end|>
    Jamba, Hunyuan    <tool_calls>[{"name": "N", "arguments": {…}}]</tool_calls>
    Cohere Command    <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "N", "parameters": {…}}]<|END_ACTION|>
    GigaChat 3        <|function_call|>{"name": "N", "arguments": {…}}

Source: the chat templates of the models, and vLLM's and SGLang's descriptions of them.
"""

from .tag import Tag
from .tags import TagDialect


def _enveloped(name: str, begin: tuple[str, ...], end: tuple[str, ...] = ()) -> TagDialect:
    return TagDialect(name, call=Tag(begin, end=end), arguments="envelope")


LLAMA = _enveloped("llama", ("<|python_tag|>",), ("<|eom_id|>", "<|eot_id|>"))
GRANITE = _enveloped("granite", ("<|tool_call|>", "<function_call>"), ("</function_call>",))
PHI = _enveloped("phi", ("functools",))
INTERNLM = TagDialect(
    "internlm",
    wrapper=Tag(("<|action_start|>",), end=("<|action_end|>",)),
    call=Tag(("<|plugin|>",)),
    arguments="envelope",
)
JAMBA = _enveloped("jamba", ("<tool_calls>",), ("</tool_calls>",))
COHERE = _enveloped("cohere", ("<|START_ACTION|>",), ("<|END_ACTION|>",))
GIGACHAT = _enveloped("gigachat", ("<|function_call|>", "function call<|role_sep|>"))
