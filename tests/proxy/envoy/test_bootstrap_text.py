"""bootstrap_text.py: a configuration as YAML, with reasons."""

from typing import Any

import pytest

from toolmend.proxy.envoy.bootstrap_text import BootstrapError, Why, check, yaml


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"no_such_field": 1}, "no_such_field"),
        ({"static_resources": {"clusters": [{"name": "x", "type": "NO_SUCH_TYPE"}]}}, "NO_SUCH_TYPE"),
        ({"admin": {"address": {"socket_address": {"port_value": "many"}}}}, "many"),
        ({"static_resources": {"clusters": [{"connect_timeout": "soon"}]}}, "soon"),
        ({"typed": {"@type": "type.googleapis.com/no.such.Message"}}, "typed"),
    ],
    ids=["field", "enum", "number", "duration", "type"],
)
def test_what_envoys_messages_do_not_take(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(BootstrapError, match=named):
        check(wrong)


def test_a_reason_stands_once_beside_its_value() -> None:
    text = yaml({"one": Why(1, "why"), "two": Why({"three": 3}, "not so"), "four": [{"five": Why(5, "why")}]})
    assert text == "one: 1 # why\ntwo: {three: 3} # not so\nfour:\n  - five: 5\n"
