"""secret_places.py: each row finds a value in its place, and the shapes are credentials by their form alone."""

import pytest

from toolmend.secrets.secret_places import PLACES, SHAPES

VALUE = "kQ7zRtVbXw2L"
IN_PLACES = {
    "curl -u app:{} https://h/x": "a password on a command line",
    "curl -s --user app:{} https://h/x": "a password on a command line",
    "mysql -u root -p{} db": "a password on a command line",
    "sshpass -p {} ssh h": "a password on a command line",
    "docker login -u me -p {} r.io": "a password on a command line",
    "psql --password={} db": "a password on a command line",
    "tool --api-key {}": "a password on a command line",
    "smbclient //h/s -U me%{}": "a password on a command line",
    "htpasswd -bc file me {}": "a password on a command line",
    "echo {} | sudo -S ls": "a password on a command line",
    "openssl enc -pass pass:{} ": "a password on a command line",
    'ConvertTo-SecureString -String "{}" -AsPlainText': "a password on a command line",
    "CREATE USER a IDENTIFIED BY '{}'": "a password in a statement",
    "requirepass {}": "a password in a file of passwords",
    "machine h login a password {}": "a password in a file of passwords",
    "h.example:5432:db:app:{}": "a password in a file of passwords",
    'psk="{}"': "a password in a file of passwords",
    "Authorization: Basic {}": "a password in a header",
    "postgres://app:{}@db.example/x": "the password in a URL",
    "jdbc:oracle:thin:app/{}@h:1521": "the password in a URL",
    "sqlplus app/{}@db": "the password in a URL",
}
HEX = "0123456789abcdef" * 2
OF_A_SHAPE = {
    "https://hooks.slack.com/services/T01234567/B01234567/abcdefghijklmnopqrstuvwx": "a webhook of Slack",
    "https://discord.com/api/webhooks/123456789012345678/" + "a" * 68: "a webhook of Discord",
    f"https://{HEX}@o1.ingest.sentry.io/2": "a DSN of Sentry",
    "https://x.blob.core.windows.net/a?sv=1&sig=" + "a" * 43 + "%3D": "a URL of Azure that is signed",
    "123456789:AA" + "b" * 33: "a token of a bot of Telegram",
    f"{HEX}-us12": "a key of Mailchimp",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----": "a private key",
    f"https://open.feishu.cn/open-apis/bot/v2/hook/{HEX}-ab1": "a webhook",
    '{"kty":"EC","x":"a","d":"' + "a" * 43 + '"}': "a private key",
}
INNOCENT = [
    "curl https://h/x",
    "git log -p file.py",
    "mysql -u root -p",
    "the password is kept elsewhere",
    "https://hooks.slack.com/services/",
    "http://localhost:8000/v1",
    "see https://sentry.io/organizations/x",
    "postgres://db.example/x",
    "identified by the name",
    "uuid 0b9f0b1c-1e0e-4b8e-9d7a-0c1d2e3f4a5b",
]


@pytest.mark.parametrize("line", IN_PLACES)
def test_a_value_is_found_in_its_place(line: str) -> None:
    kinds = {kind for kind, pattern in PLACES for found in pattern.finditer(line.format(VALUE)) if found["v"] == VALUE}
    assert IN_PLACES[line] in kinds


@pytest.mark.parametrize("line", IN_PLACES)
def test_nothing_is_found_without_a_value(line: str) -> None:
    assert not any(VALUE in found["v"] for _, pattern in PLACES for found in pattern.finditer(line.format("")))


@pytest.mark.parametrize("text", OF_A_SHAPE)
def test_a_shape_is_a_credential(text: str) -> None:
    assert OF_A_SHAPE[text] in {kind for kind, pattern in SHAPES if pattern.search(f"url = {text}\n")}


@pytest.mark.parametrize("text", INNOCENT)
def test_other_lines_hold_none(text: str) -> None:
    assert not [kind for kind, pattern in (*PLACES, *SHAPES) if pattern.search(text)]


def test_every_place_names_its_value() -> None:
    assert all({"q", "v"} <= pattern.groupindex.keys() for _, pattern in PLACES)
