"""What must hold of each run, whatever the agent and the scenario are."""

import json
import re

from tests.agents.agents import OWN_KEY
from tests.agents.history import results, said
from tests.agents.provider import BEFORE, BEHIND, api_of
from tests.agents.running import PROVIDER_KEY, Run
from tests.agents.scenarios import Scenario
from tests.agents.tools import FILE, LONG, TRICKY
from toolmend.providers.hosts import known

ANSWER = "The shell says mended, and that is all."


def the_user_sees_an_answer(run: Run, scenario: Scenario) -> None:
    """Every call ran, the last answer is shown, and no markup is."""
    assert run.code == 0, run.said
    assert ANSWER in run.said, run.said
    for number in range(scenario.file, scenario.turns * scenario.calls):
        assert (run.folder / f"proof-{number}.txt").read_text() == f"{TRICKY}\n"
    if scenario.file:
        assert (run.folder / FILE).read_text() == LONG
    for mark in scenario.markup.marks if scenario.markup else ():
        assert mark not in run.said, run.said


def results_went_back(run: Run, scenario: Scenario) -> None:
    """The provider got each result once, and a history in which nothing is leaked and nothing is missing."""
    asked = [json.loads(request.body) for request in run.requests if api_of(request)]
    last = max(asked, key=lambda body: len(list(results(body))))
    got = list(results(last))
    assert len(got) == scenario.turns * scenario.calls
    assert all(TRICKY in one for one in (got[1:] if scenario.file else got)), got
    history = "\n".join(said(last))
    for mark in scenario.markup.marks if scenario.markup else ():
        assert mark not in history, history
    if scenario.where == "content" and not scenario.socket:
        assert history.count(BEFORE) - scenario.turns in (0, int(scenario.broken_off))  # some keep what they got before the break
        assert history.count(BEHIND) == scenario.turns * scenario.framed


def keys_stayed(run: Run, scenario: Scenario) -> None:
    """A routed request has the provider's key alone, every other the agent's alone; no key is recorded."""
    right, wrong = (PROVIDER_KEY, OWN_KEY) if scenario.routed else (OWN_KEY, PROVIDER_KEY)
    asked = [request for request in run.requests if api_of(request)]
    for request in asked:
        assert right in str(request.headers)
    for request in run.requests:
        assert wrong not in str(request)
    for file in run.flows.rglob("*"):
        assert not (file.is_file() and any(key.encode() in file.read_bytes() for key in (OWN_KEY, PROVIDER_KEY))), file


def recordings_are_whole(run: Run, scenario: Scenario) -> None:
    """Each exchange is recorded to its end; what needed no mending left as it came, byte for byte."""
    metas = [(file.parent, json.loads(file.read_bytes())) for file in run.flows.rglob("meta.json")]
    answered = [request for request in run.requests if api_of(request) and scenario.refuses not in json.loads(request.body)]
    assert len(metas) == len(answered)
    if scenario.refuses:  # once, and then it is left out
        assert len(answered) < len(run.requests) <= len(answered) + 2
    states = [meta["state"] for _, meta in metas]
    assert states.count("complete") == len(states) - scenario.broken_off, states
    rules = [rule for _, meta in metas for rule in meta["rules"]]
    if scenario.markup:
        assert rules.count(scenario.markup.rule) == scenario.turns + scenario.broken_off, rules
    elif not scenario.routed:
        assert rules == []
        for folder, _ in metas:
            for name in (file.name for file in folder.glob("upstream.*") if file.suffix in (".sse", ".json")):
                assert (folder / name).read_bytes() == (folder / name.replace("upstream", "client")).read_bytes()


def only_llm_hosts_were_decrypted(run: Run) -> None:
    decrypted = set(re.findall(r"decrypted: (\S+)", run.log))
    assert [host for host in decrypted if not known(host)] == []
    assert "Traceback" not in run.log, run.log
