"""ids.py."""

import uuid

from toolmend.ids import new_call_id


def test_an_id_is_a_uuid_of_version_7() -> None:
    ids = [new_call_id() for _ in range(100)]
    assert len(set(ids)) == 100
    for id_ in ids:
        value = uuid.UUID(id_.removeprefix("call_"))
        assert (value.version, value.variant) == (7, uuid.RFC_4122)
        assert len(id_) == 37
    assert [id_[:13] for id_ in ids] == sorted(id_[:13] for id_ in ids)
