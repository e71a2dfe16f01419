"""outgoing.py: what only the client's provider may see is removed, what the user knows of the model holds, and then it is translated."""

from typing import Any

import pytest

from toolmend.providers.model_profiles import Profile
from toolmend.requests import RequestError
from toolmend.requests.outgoing import outgoing

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
SECRETS = {"api_key": "sk-0123456789abcdef", "extra_headers": {"authorization": "Bearer sk-0123456789abcdef"}}


@pytest.mark.parametrize("upstream", ["chat", "messages", "responses"])
def test_credentials_of_the_body_stay_here(upstream: str) -> None:
    made = outgoing({**CHAT, **SECRETS}, "chat", upstream, model="x", host="h.example")
    assert not SECRETS.keys() & made.request.keys()
    assert "sk-0123456789abcdef" not in str(made.request)


def test_a_trusted_upstream_gets_them() -> None:
    made = outgoing({**CHAT, **SECRETS}, "chat", "chat", trusted=True)
    assert SECRETS.items() <= made.request.items()


def test_credentials_of_tools_stay_with_them() -> None:
    tool = {"type": "mcp", "server_label": "s", "headers": {"authorization": "Bearer t0ken-0123456789"}}
    request = {"model": "m", "input": "Hi", "tools": [tool]}
    assert outgoing(request, "responses", "responses", host="h.example").request["tools"] == [tool]


@pytest.mark.parametrize(("model", "sent"), [("", "m"), ("other", "other")])
def test_the_model_of_the_route(model: str, sent: str) -> None:
    assert outgoing(CHAT, "chat", "messages", model=model).request["model"] == sent


def test_the_users_facts_beat_what_was_learnt() -> None:
    def limit(given: dict[str, Any]) -> Any:
        own = (Profile("own", models=("x",), takes=tuple(given.items())),)
        made = outgoing({**CHAT, "max_tokens": 50}, "chat", "messages", model="x", providers=own, learnt=({"max_tokens": 40}, ()))
        return made.request["max_tokens"]

    assert (limit({}), limit({"max_tokens": 30})) == (40, 30)


def test_edits_of_a_refusal_apply_last() -> None:
    made = outgoing({**CHAT, "seed": 7}, "chat", "chat", host="h.example", learnt=({}, ("seed",)))
    assert "seed" not in made.request


def test_tools_go_into_a_prompt() -> None:
    made = outgoing({**CHAT, "tools": [TOOL]}, "chat", "chat", template="Tools: {tools}")
    assert "tools" not in made.request
    assert "Tools: " in str(made.request["messages"][0])


def test_what_cannot_be_served_is_an_error() -> None:
    with pytest.raises(RequestError):
        outgoing({"model": "m", "messages": 1}, "chat", "messages")
