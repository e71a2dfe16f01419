"""named_arguments.py: a call whose name holds its arguments, in each API."""

import json

import pytest

from tests.support import upstream_answers
from tests.support.other_api_streams import (
    candidate,
    gemini_request,
    gemini_sse,
    ollama_lines,
    ollama_request,
    read_gemini,
    read_ollama,
)
from tests.support.streams import play, request, tool
from toolmend.apis.shared.named_arguments import MAX_NAME, named_arguments
from toolmend.core import tools
from toolmend.pipeline.pipeline import Pipeline

READ = tool("read", path={"type": "string"}, limit={"type": "integer"})
READ["function"]["parameters"]["required"] = ["path"]
OFFER = request(READ, tool("get_time", zone={"type": "string"}))
TOOLS = tools.of_chat(OFFER)
PATH = '{"path": "a.md"}'
GLM = "read<arg_key>path</arg_key><arg_value>a.md</arg_value>"
NAMES = {
    GLM: PATH,
    f"<tool_call>{GLM}\n<arg_key>limit</arg_key>\n<arg_value>20</arg_value></tool_call>": "",  # `bare` finds no tool in it
    f"{GLM}\n<arg_key>limit</arg_key>\n<arg_value>20": '{"path": "a.md", "limit": 20}',
    "read\n<parameter=path>\na.md\n</parameter>\n<parameter=limit>\n20\n</parameter>\n</function>": '{"path": "a.md", "limit": 20}',
    'read">\n<｜DSML｜parameter name="path" string="true">a.md</｜DSML｜parameter>': PATH,
    "functions.read<parameter name='path'>a.md": PATH,
    f"read {PATH}": PATH,
    f"read({PATH})": PATH,
    "read<arg_key>file</arg_key><arg_value>a.md</arg_value>": "",
    "read<arg_key>limit</arg_key><arg_value>20</arg_value>": "",
    'read {"path": ': "",
    "read<|channel|>commentary": "",
    "read": "",
    f"rm<br>{PATH}": "",
    "read" + PATH.replace("a", "a" * MAX_NAME): "",
}


@pytest.mark.parametrize("said", NAMES)
def test_names_with_arguments(said: str) -> None:
    name = next((name for name in ("read", "functions.read", "rm") if said.startswith(name)), said)
    assert named_arguments(said, name.removeprefix("functions."), TOOLS) == NAMES[said]


@pytest.mark.parametrize("arguments", ["{}", "", "null", PATH, '{"path":"b.md"}'])
@pytest.mark.parametrize("api", upstream_answers.APIS)
def test_own_arguments_come_first(api: str, arguments: str) -> None:
    body = upstream_answers.speak(api, [upstream_answers.Asked("call_1", GLM, arguments)], "tool_calls")
    offer = upstream_answers.asked(api, ("read", READ["function"]["parameters"]["properties"]))
    for required in (True, False):
        schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"] if required else []}
        for entry in offer["tools"]:
            holder = entry.get("function", entry)
            holder["input_schema" if api == "messages" else "parameters"] = schema
        for chunks in ([body], [body[at : at + 1] for at in range(len(body))]):
            answer = upstream_answers.JUDGES[api].read(play(lambda: Pipeline(offer, source=api, target=api), chunks))
            (call,) = answer.calls
            assert (call.id, call.name) == ("call_1", "read")
            assert json.loads(call.arguments) == json.loads(arguments if arguments.startswith('{"') else PATH)


@pytest.mark.parametrize("given", [{}, None, {"path": "b.md"}])
def test_whole_calls_of_gemini_and_ollama(given: dict[str, str] | None) -> None:
    wanted = [("read", given or {"path": "a.md"})]
    body = gemini_sse([candidate({"functionCall": {"name": GLM, **({"args": given} if given is not None else {})}}, finish="STOP")])
    asked = gemini_request(OFFER)
    out = play(lambda: Pipeline(asked, source="gemini", target="gemini"), [body])
    assert [(call[0], call[1]) for call in read_gemini(out).calls] == wanted
    body = ollama_lines([{"tool_calls": [{"function": {"name": GLM, "arguments": given}}]}])
    out = play(lambda: Pipeline(ollama_request(OFFER), source="ollama", target="ollama"), [body])
    assert [(call[0], call[1]) for call in read_ollama(out).calls] == wanted
