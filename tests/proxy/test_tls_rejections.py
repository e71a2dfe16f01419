"""Who is let through for refusing our certificate, and who is not: a story of signs and tries, each at its second."""

from typing import Literal

import pytest

from toolmend.proxy.tls_rejections import (
    MAX_CLIENTS,
    RETRY_SECONDS,
    TUNNEL_SECONDS,
    ClientFingerprint,
    Sign,
    TlsRejections,
    stack_of,
)

CURL = ClientFingerprint("127.0.0.1", "api.openai.com", stack_of([0, 10, 11], [1, 2], [b"h2"]))
NODE = ClientFingerprint("127.0.0.1", "api.openai.com", stack_of([0, 10, 11, 13], [1, 2], [b"http/1.1"]))

type Step = tuple[float, ClientFingerprint, Sign | Literal["trusts", "passes", "is read"]]

STORIES: dict[str, list[Step]] = {
    "it says so": [(0, CURL, Sign.REFUSED), (1, CURL, "passes"), (2, CURL, "passes"), (3, NODE, "is read")],
    "it is asked again": [
        (0, CURL, Sign.REFUSED),
        (TUNNEL_SECONDS - 1, CURL, "passes"),
        (TUNNEL_SECONDS + 1, CURL, "is read"),
        (TUNNEL_SECONDS + 1, CURL, Sign.REFUSED),
        (TUNNEL_SECONDS + 2, CURL, "passes"),
    ],
    "it leaves in the handshake": [(0, NODE, Sign.LEFT), (1, NODE, "passes"), (2, NODE, "is read")],
    "it leaves there twice": [
        *((0, NODE, Sign.LEFT), (1, NODE, "passes"), (2, NODE, "is read"), (2, NODE, Sign.LEFT)),
        *((3, NODE, "passes"), (4, NODE, "passes"), (TUNNEL_SECONDS, NODE, "passes")),
    ],
    "it left, and comes back much later": [(0, NODE, Sign.LEFT), (RETRY_SECONDS + 1, NODE, "is read")],
    "it leaves without a word": [(0, NODE, Sign.SILENT), (1, NODE, "is read")],
    "it does so twice": [(0, NODE, Sign.SILENT), (1, NODE, "is read"), (1, NODE, Sign.SILENT), (2, NODE, "passes")],
    "now and then": [(0, NODE, Sign.SILENT), (RETRY_SECONDS + 1, NODE, Sign.SILENT), (RETRY_SECONDS + 2, NODE, "is read")],
    "it trusts us, and leaves": [
        *((0, NODE, "trusts"), (1, NODE, Sign.LEFT), (2, NODE, Sign.LEFT), (3, NODE, "is read")),
        *((3, NODE, Sign.SILENT), (3, NODE, Sign.SILENT), (4, NODE, "is read")),
    ],
    "one of its kind trusts us, one does not": [
        *((0, CURL, "trusts"), (1, CURL, Sign.REFUSED), (2, CURL, "passes"), (3, CURL, "is read")),
        *((4, CURL, Sign.REFUSED), (5, CURL, "passes"), (6, CURL, "is read")),
    ],
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_stories(story: list[Step]) -> None:
    now = 0.0
    refusals = TlsRejections(lambda: now)
    for at, (second, client, what) in enumerate(story):
        now = second
        match what:
            case Sign():
                refusals.record_sign(client, what)
            case "trusts":
                refusals.mark_trusted(client)
            case _:
                assert refusals.is_tunnelled(client) == (what == "passes"), f"step {at}"


@pytest.mark.parametrize(
    ("story", "told"),
    [
        ([Sign.REFUSED, Sign.REFUSED], [True, True]),
        ([Sign.LEFT], [True]),
        ([Sign.SILENT, Sign.SILENT], [False, True]),
    ],
    ids=["refused", "left", "silent"],
)
def test_what_the_user_is_told_of(story: list[Sign], told: list[bool]) -> None:
    refusals = TlsRejections(lambda: 0.0)
    assert [refusals.record_sign(NODE, sign) for sign in story] == told


def test_clients_are_forgotten() -> None:
    refusals = TlsRejections(lambda: 0.0)
    for number in range(MAX_CLIENTS + 1):
        refusals.record_sign(ClientFingerprint(str(number), "a", ((), (), ())), Sign.REFUSED)
    assert [refusals.is_tunnelled(ClientFingerprint(str(number), "a", ((), (), ()))) for number in (0, 1, MAX_CLIENTS)] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (([0, 10, 51], [1, 2], [b"h2"]), ([51, 0, 10], [2, 1], [b"h2"]), True),
        (([0x0A0A, 0, 10, 0xFAFA], [0x1A1A, 1], [b"\x2a\x2a", b"h2"]), ([0, 10], [1], [b"h2"]), True),
        (([0, 10, 21, 35, 41, 42], [1], []), ([0, 10], [1], []), True),
        (([0, 10], [1], [b"h2", b"http/1.1"]), ([0, 10], [1], [b"http/1.1"]), False),
        (([0, 10], [1], []), ([0, 10, 13], [1], []), False),
        (([0, 10], [1], []), ([0, 10], [1, 2], []), False),
        (([0, 0x0A1A], [1], []), ([0], [1], []), False),
    ],
    ids=["another order", "GREASE", "now and then", "protocols", "extensions", "ciphers", "no GREASE"],
)
def test_the_stack_of_a_client(
    one: tuple[list[int], list[int], list[bytes]], other: tuple[list[int], list[int], list[bytes]], *, same: bool
) -> None:
    assert (stack_of(*one) == stack_of(*other)) is same
