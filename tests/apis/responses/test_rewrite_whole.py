"""rewrite_whole.py: whole responses of Responses."""

import json

from tests.patterns.kimi import ONE
from tests.support.answers import Call
from tests.support.judges.responses import whole
from tests.support.responses_streams import DONE, GET, HALVES, LEAK, SEARCH, call, message, pipeline, reasoning, wires


def test_a_whole_response_is_mended() -> None:
    parts = (reasoning(0, ["Hm"]), message(1, ["".join(LEAK), " so"], phase="commentary"), SEARCH, message(2, ["End."], phase="final_answer"), call(3, HALVES))
    body = json.dumps({**DONE, "output_text": "x", "output": wires(*parts)}, indent=1).encode()
    out = pipeline().message(body)
    response = json.loads(out)
    told = whole(out)
    assert told.faults == []
    assert (told.text, told.reasoning, told.seals) == ("Look:  soEnd.", "Hm", ["gAAA"])
    assert told.calls == [GET, Call("call_3", "task", '{"city": 1}')]
    assert [wire["id"][:6] for wire in response["output"]] == ["rs_0", "msg_1", "fc_000", "msg_00", "ws_1", "msg_2", "fc_3"]
    assert [wire.get("phase") for wire in response["output"]][1:6:2] == ["commentary", "commentary", "final_answer"]
    assert response["output_text"] == "Look:  soEnd."
    assert out.startswith(body.partition(b'"output"')[0])


def test_a_whole_response_without_an_output_is_mended() -> None:
    out = json.loads(pipeline().message(json.dumps({**DONE, "output": None, "usage": {"input_tokens": 1}}).encode()))
    assert (out["output"], out["usage"]["total_tokens"]) == ([], 1)


def test_whole_reasoning_is_mended() -> None:
    parts = (reasoning(0, ["a", ONE, "b"], "thought"), reasoning(1, ["".join(LEAK)], sealed=""), reasoning(2, [""], sealed="gBBB"), message(3, ["Hi"]))
    out = pipeline().message(json.dumps({**DONE, "output": wires(*parts)}).encode())
    told = whole(out)
    assert told.faults == []
    assert (told.reasoning, told.text, told.seals) == ("abLook: ", "Hi", ["", "gAAA", "", "gBBB"])
    output = json.loads(out)["output"]
    assert [(wire["id"][:5], wire.get("content"), wire.get("summary")) for wire in output if wire["type"] == "reasoning"] == [
        ("rs_0", [{"type": "reasoning_text", "text": "a"}], []),
        ("rs_00", [{"type": "reasoning_text", "text": "b"}], []),
        ("rs_1", None, [{"type": "summary_text", "text": "Look: "}]),
        ("rs_2", None, [{"type": "summary_text", "text": ""}]),
    ]
