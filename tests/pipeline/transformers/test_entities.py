"""Arguments that Grok escapes as HTML does."""

import json

from tests.support.judges.chat import read
from tests.support.streams import request, stream, tool
from toolmend.pipeline.pipeline import Pipeline

OFFER = request(tool("bash", command={"type": "string"}), model="grok-4.1-fast")


def mended(arguments: str, size: int, model: str = "grok-4.1-fast") -> tuple[str, list[str], bool]:
    """The arguments as the client reads them, the rules that fired, and whether no byte changed."""
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    begin = {"index": 0, "id": "c", "type": "function", "function": {"name": "bash", "arguments": ""}}
    deltas = [{"tool_calls": [begin]}, *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces)]
    upstream = stream(deltas, finish="tool_calls")
    pipeline = Pipeline({**OFFER, "model": model})
    client = pipeline.feed(upstream) + pipeline.close()
    assert pipeline.error is None
    answer = read(client)
    assert answer.all_faults == []
    return answer.only.calls[0].arguments, pipeline.rules, client == upstream


ESCAPED = {
    "cd /srv &amp;&amp; echo &quot;ok&quot;": 'cd /srv && echo "ok"',
    "a &lt; b &gt; c &#39;d&#x27; &apos;e&apos; &#34;": "a < b > c 'd' 'e' \"",
    "&amp;amp; &amp;lt;": "&amp; &lt;",  # once
    'echo "a" &amp;': 'echo "a" &',
    "a &amp;&amp; b & c &amp; d": "a && b & c &amp; d",  # not escaped from the bare one on
}
PLAIN = ["a && b", "<p>Tom &amp; Jerry</p>", "a & b &amp; c", "x &nbsp; y", "ends with &", "ends with &amp", "&ampersand &am", "none", "if a > b: &lt;"]


def test_entities_are_unescaped_in_every_cut() -> None:
    for given, wanted in ESCAPED.items():
        for size in (1, 2, 3, 7, 1000):
            arguments, rules, _ = mended(json.dumps({"command": given}), size)
            assert (json.loads(arguments), rules) == ({"command": wanted}, ["argument_entities"]), (given, size)


def test_what_is_not_escaped_keeps_its_bytes() -> None:
    for given in PLAIN:
        for size in (1, 2, 5, 1000):
            assert mended(json.dumps({"command": given}), size) == (json.dumps({"command": given}), [], True), (given, size)


def test_other_models_do_not_escape() -> None:
    arguments = json.dumps({"command": next(iter(ESCAPED))})
    assert mended(arguments, 4, "gpt-5") == (arguments, [], True)
