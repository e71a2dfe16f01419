"""What a client must have of the leaked stream: its call, and what was recorded of it."""

from tests.e2e.clients import CALL, LEAK, chunks
from tests.support.judges.chat import read
from tests.support.streams import WEATHER, play
from toolmend.pipeline.pipeline import Pipeline

MENDED = play(lambda: Pipeline(WEATHER), [data for _, data in chunks(LEAK)])


def check(body: bytes) -> None:
    """The one call, whole, and the stream around it."""
    answer = read(body)
    assert [(call.id, call.name, call.arguments) for call in answer.only.calls] == [CALL]
    assert answer.only.content == "I will look."
    assert answer.only.finish_reasons == ["tool_calls"]
    assert answer.done
    assert answer.usage
    assert not answer.all_faults
    assert b"<|" not in body
    assert body.endswith(b"data: [DONE]\n\n")
