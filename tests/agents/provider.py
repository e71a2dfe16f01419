"""A provider on loopback that speaks every API, and writes its calls as the scenario says: as real ones, or leaked.

It goes by what it is asked: to a request that offers a shell it answers with a call, until as many results have come back as
the scenario has calls; then with a sentence that tells what the shell said.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.agents.history import results
from tests.agents.scenarios import Scenario
from tests.agents.speaking import Call, Part, Reasoning, Text, speak, tell
from tests.agents.tools import TRICKY, Arguments, command, long_command, offered, run, write
from tests.agents.wire import send
from toolmend.recordings.playback.server import Request, Script

PATHS = {"/chat/completions": "chat", "/messages": "messages", "/responses": "responses", ":streamGenerateContent": "gemini"}
BEFORE, BEHIND = "I will write the proof.", "That is the call."
THOUGHT = "The shell can do that."
NOT_HERE = Script(((0, b'{"error": {"message": "there is no such thing here"}}'),), 404, (("content-type", "application/json"),))


def api_of(request: Request) -> str | None:
    """The API that a request speaks; None: it is of another kind."""
    path = request.path.partition("?")[0]
    return next((api for end, api in PATHS.items() if path.endswith(end)), None)


class Provider:
    """What answers the requests of one run. `folder`: where the agent works."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder = scenario, folder
        self._broken_off = not scenario.broken_off

    def __call__(self, request: Request) -> Script:
        api = api_of(request)
        if api is None or (self.scenario.upstream and api != self.scenario.upstream):
            return NOT_HERE
        body = json.loads(request.body)
        if self.scenario.refuses in body:
            error = {"message": f"Unknown parameter: '{self.scenario.refuses}'.", "param": self.scenario.refuses, "code": "unknown_parameter"}
            return replace(NOT_HERE, chunks=((0, json.dumps({"error": error}).encode()),), status=400)
        model = body.get("model", "a-model")
        parts = self.parts(body)
        if api != "responses":  # the other APIs have no tools of free text
            parts = [replace(part, arguments=free(part.arguments)) if isinstance(part, Call) else part for part in parts]
        if not body.get("stream", api == "gemini"):
            return Script(((0, tell(api, parts, model)),), headers=(("content-type", "application/json"),))
        wire = self.scenario.wire
        if wire.coding not in (request.header("accept-encoding") or "").split(", "):
            wire = replace(wire, coding="identity")
        script = send(speak(api, parts, model), wire)
        if self._broken_off or len(parts) < 2:
            return script
        self._broken_off = True
        return replace(script, chunks=script.chunks[: len(script.chunks) * 3 // 5], end="drop")

    def parts(self, body: Mapping[str, Any]) -> Sequence[Part]:
        """The next answer of the conversation."""
        scenario, tools = self.scenario, list(offered(body))
        if all(run(tool, "") is None for tool in tools):
            return [Text("A title")]
        done = list(results(body))
        if len(done) >= scenario.turns * scenario.calls:
            proofs = done[1:] if scenario.file else done
            return [Text(f"The shell says {'mended' if all(TRICKY in one for one in proofs) else proofs}, and that is all.")]
        calls = []
        for number in range(len(done), len(done) + scenario.calls):
            writing = [write(tool, self.folder) for tool in tools] if scenario.file and number == 0 else []
            line = long_command() if writing else command(number)
            made = zip(tools, writing if any(writing) else [run(tool, line) for tool in tools], strict=True)
            tool, arguments = next((tool, arguments) for tool, arguments in made if arguments is not None)
            calls.append(Call(f"call_{number}", tool.name, arguments, tool.namespace))
        if scenario.markup is None:
            return [Reasoning(THOUGHT), Text(BEFORE), *calls]
        leaked = "\n".join(scenario.markup.call(call.name, free(call.arguments), len(done) + at) for at, call in enumerate(calls))
        if scenario.where == "reasoning":
            return [Reasoning(f"{THOUGHT}{leaked}")]
        if scenario.framed:
            return [Text(f"<think>{THOUGHT}</think>\n\n{BEFORE}\n\n{leaked}\n\n{BEHIND}")]
        return [Reasoning(THOUGHT), Text(f"{BEFORE}{leaked}")]


def free(arguments: Arguments) -> dict[str, Any]:
    """A model that is offered a tool of free text by another API, or as markup, has one field for it."""
    return {"input": arguments} if isinstance(arguments, str) else arguments
