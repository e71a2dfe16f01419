"""Real agents, each in each scenario: the call ran, its result went back, the answer is shown, and no user sees markup."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, Agent
from tests.agents.checks import (
    keys_stayed,
    only_llm_hosts_were_decrypted,
    recordings_are_whole,
    results_went_back,
    the_user_sees_an_answer,
)
from tests.agents.running import play
from tests.agents.scenarios import APIS, CORE, DIALECT_ROWS, DIALECTS, ROUTES, RUN, SOCKETS, WHERE, Scenario

IN_DEPTH = ("claude", "codex", "pi")
"""One agent of each API: the quickest."""

MAKERS = ("api.openai.com", "api.moonshot.ai")
"""Hosts of makers that agents here call: a model there is known, whatever it is called."""


def matrix(full: bool) -> Iterator[tuple[str, str, str, Scenario]]:
    """Agent, row of the table, scenario's name, scenario."""
    for name, agent in AGENTS.items():
        routed = {label: each for label, each in (ROUTES | RUN).items() if agent.api in APIS and each.upstream != agent.api}
        for label, scenario in (SOCKETS if name == "codex-socket" else CORE | routed).items():
            if bears(agent, scenario):
                yield name, label, label, scenario
    for name, agent in AGENTS.items():
        for label, scenario in DIALECTS.items() if name in IN_DEPTH or (full and name != "codex-socket") else ():
            if bears(agent, scenario):
                yield name, DIALECT_ROWS[WHERE.index(scenario.where)], label, scenario


def bears(agent: Agent, scenario: Scenario) -> bool:
    """Whether the agent can do that at all, and has a model that the markup is looked for with."""
    if agent.fragile and (scenario.wire.noise or scenario.broken_off):
        return False
    if scenario.alias and any(host in agent.endpoint for host in MAKERS):
        return False
    return agent.model is None or scenario.routed or scenario.markup is None or scenario.markup.always


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    rows = [pytest.param(agent, row, scenario, id=f"{agent}: {name}") for agent, row, name, scenario in matrix(metafunc.config.getoption("full"))]
    metafunc.parametrize(("agent", "row", "scenario"), rows)


def test_an_agent(agent: str, row: str, scenario: Scenario, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    record_property("agent", agent)
    record_property("row", row)
    run = play(AGENTS[agent], scenario, tmp_path)
    the_user_sees_an_answer(run, scenario)
    results_went_back(run, scenario)
    keys_stayed(run, scenario)
    recordings_are_whole(run, scenario)
    only_llm_hosts_were_decrypted(run)
