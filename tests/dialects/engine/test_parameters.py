"""parameters.py: parameters of an element dialect."""

import json

from tests.support.closers import P
from tests.support.markup import Told
from toolmend.core.tools import Tools
from toolmend.dialects.engine.parameters import MAX_VALUES

MANY = Tools({"pick": {"properties": {"a": {"type": "string"}, "tags": {"type": "array", "items": {"type": "integer"}}, "deep": {"type": "object"}}}})


def test_a_repeated_parameter_is_no_second_key() -> None:
    """A list where the schema has one; else the last, but for long ones, whose first has been sent when the second comes."""
    def coder(*given: tuple[str, str]) -> str:
        values = "".join(f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in given)
        return f"<tool_call>\n<function=pick>\n{values}</function>\n</tool_call>"

    deep = "".join(f"{P}<x>{n}{P}</x>" for n in (1, 2))
    once = (coder(("tags", "[1, 2]")), f'{P}<invoke name="pick">{P}<deep>{deep}{P}</deep>{P}</invoke>')
    for dialect, text, expected in (
        ("qwen3_coder", coder(("a", "1"), ("a", "2")), {"a": "2"}),
        ("qwen3_coder", coder(("a", "1"), ("deep", "{}"), ("a", "2")), {"a": "2", "deep": {}}),
        ("qwen3_coder", coder(("deep", "1"), ("a", "1"), ("deep", '{"x": 1}')), {"deep": {"x": 1}, "a": "1"}),
        ("qwen3_coder", coder(("a", "1" * (MAX_VALUES + 1)), ("a", "2")), {"a": "1" * (MAX_VALUES + 1)}),
        ("glm", "<tool_call>pick<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>a</arg_key><arg_value>2</arg_value></tool_call>", {"a": "2"}),
        ("minimax_m3", f'{P}<invoke name="pick">{P}<a>1{P}</a>{P}<a>2{P}</a>{P}</invoke>', {"a": "2"}),
        ("qwen3_coder", coder(("tags", "1"), ("tags", "2"), ("tags", "3"), ("a", "x")), {"tags": [1, 2, 3], "a": "x"}),
        ("qwen3_coder", coder(("tags", "[1, 2]")), {"tags": [1, 2]}),
        ("minimax_m3", f'{P}<invoke name="pick">{P}<tags>1{P}</tags>{P}<tags>2{P}</tags>{P}</invoke>', {"tags": [1, 2]}),
        ("minimax_m3", f'{P}<invoke name="pick">{P}<deep>{deep}{P}</deep>{P}</invoke>', {"deep": {"x": "2"}}),
    ):
        for pieces in ([text], list(text)):
            told = Told(pieces, MANY, (dialect,), broken=False)
            (_, _, arguments), = told.calls
            assert json.loads(arguments, object_pairs_hook=list) == json.loads(json.dumps(expected), object_pairs_hook=list), text
            assert told.ended
            assert ("repeated_parameter" in told.rules) == (text not in once), text
