"""Events of a Messages stream, a word for each."""

from tests.support.judges import messages as judge
from toolmend.core.reasoning_state import ReasoningState, envelope

PLAIN = envelope(ReasoningState("plain"))


def told(body: bytes) -> list[str]:
    """The events of a stream, a word each: `+0 text`, `0 Hi`, `-0`."""
    words = []
    for name, data in judge.events(judge.Answer(), body):
        index = data.get("index")
        match name:
            case "content_block_start":
                block = data["content_block"]
                words.append(f"+{index} {block['type']}" + "".join(f" {block[key]}" for key in ("id", "name", "data") if key in block))
            case "content_block_delta":
                kind, piece = data["delta"].values()
                words.append(f"{index} {'~' * (kind == 'signature_delta')}{piece}")
            case "content_block_stop":
                words.append(f"-{index}")
            case "message_delta":
                words.append(data["delta"]["stop_reason"])
            case "error":
                words.append(f"{data['error']['type']}: {data['error']['message']}")
            case "message_start" | "message_stop" | "ping":
                words.append({"message_start": "(", "message_stop": ")", "ping": "."}[name])
    return words
