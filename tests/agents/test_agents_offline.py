"""Real agents a second time: what was recorded answers them, and nothing goes out.

Without the route they get what the client got; with it what the provider said is mended and translated once more.
"""

from pathlib import Path

import pytest

from tests.agents.agents import AGENTS
from tests.agents.checks import ANSWER
from tests.agents.provider import Provider
from tests.agents.running import prepare, proxy, run
from tests.agents.scenarios import ROUTES, Scenario
from tests.agents.tools import TRICKY
from toolmend.recordings.playback.server import Upstream, make_certificate

LEAKED = ROUTES["Kimi tokens, provider speaks Chat"]


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_the_second_time(name: str, tmp_path: Path) -> None:
    agent = AGENTS[name]
    start = prepare(agent, LEAKED, tmp_path)
    with Upstream(Provider(LEAKED, tmp_path / "work"), tls=make_certificate(tmp_path)) as upstream:
        with proxy(agent, LEAKED, tmp_path, upstream.port) as online:
            code, said = run([], start, tmp_path, online.environment())
        assert code == 0, said
        asked = len(upstream.requests)
        for scenario in (LEAKED, Scenario()):  # with the route, and without
            proofs = [tmp_path / "work" / f"proof-{turn}.txt" for turn in range(LEAKED.turns)]
            for proof in proofs:
                proof.unlink()
            again = {"toolmend_replay": str(tmp_path / "flows"), "toolmend_flows": str(tmp_path / f"again-{scenario.upstream}")}
            with proxy(agent, scenario, tmp_path, upstream.port, **again) as offline:
                code, said = run([], start, tmp_path, offline.environment())
                played = offline.log.count("played from")
            assert code == 0, said
            assert ANSWER in said
            assert [proof.read_text() for proof in proofs] == [f"{TRICKY}\n"] * len(proofs)
            assert played > LEAKED.turns
        assert len(upstream.requests) == asked
