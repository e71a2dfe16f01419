"""ids.py."""

import time
import uuid

from toolmend.core.ids import ids_for, new_call_id, seconds, with_prefix


def test_an_id_is_a_uuid_of_version_7() -> None:
    ids = [new_call_id() for _ in range(100)]
    assert len(set(ids)) == 100
    for id_ in ids:
        value = uuid.UUID(id_.removeprefix("call_"))
        assert (value.version, value.variant) == (7, uuid.RFC_4122)
        assert len(id_) == 37
    assert [id_[:13] for id_ in ids] == sorted(id_[:13] for id_ in ids)


def test_a_kept_stream_always_gets_the_same_ids() -> None:
    body = b'data: {"id":"c1","created": 1760000000,"choices":[]}'
    first, again, other = ids_for(body), ids_for(body), ids_for(body + b" ")
    made = [first() for _ in range(50)]
    assert made == [again() for _ in range(50)]
    assert len({*made, other()}) == 51
    for id_ in made:
        assert uuid.UUID(hex=id_.removeprefix("call_")).version == 7
        assert seconds(id_) == 1760000000
    assert seconds(ids_for(b"no time")()) == 0


def test_seconds() -> None:
    assert abs(seconds(new_call_id()) - time.time()) < 60
    assert [seconds(id_) for id_ in ("", "call_1", "functions.x:0", "call_" + "g" * 32)] == [0, 0, 0, 0]


def test_an_id_gets_another_prefix() -> None:
    assert with_prefix("toolu_", "call_0190") == "toolu_0190"
    assert with_prefix("msg_", "0190") == "msg_0190"
