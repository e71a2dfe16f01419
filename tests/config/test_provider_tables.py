"""The tables `[[provider]]`: the profiles they make, and the sentence for each thing that is wrong."""

from pathlib import Path

import pytest

from toolmend.config.provider_tables import line_of
from toolmend.config.settings import SettingsError, parse
from toolmend.dialects import DIALECTS
from toolmend.providers.model_profiles import BUILT_IN, Profile, profile_for

NAMES = ", ".join(DIALECTS)
FIELDS = "name, models, hosts, dialects, reasoning_field, think_tags, think_unopened"
GATE = '[[provider]]\nname = "a"\nmodels = ["a"]\ntakes = '

QWEN = BUILT_IN["qwen"]

RIGHT = [
    ("provider = []", ()),
    ('[[provider]]\nname = "My-vLLM"\nmodels = ["My-*"]', (Profile("my-vllm", ("my-*",)),)),
    (
        """
        hosts = ["llm.corp.example"]
        [[provider]]
        name = "my-vllm"
        models = ["my-*", "corp/*", "my-*"]
        hosts = ["LLM.corp.example", "*.gpu.example:8000"]
        dialects = ["hermes", "Qwen3_Coder"]
        reasoning_field = "reasoning"
        think_tags = true
        think_unopened = false

        [[ "provider" ]]
        name = "other"
        hosts = ["localhost:8000"]
        """,
        (
            Profile(
                "my-vllm",
                ("my-*", "corp/*"),
                ("llm.corp.example", "*.gpu.example:8000"),
                ("hermes", "qwen3_coder"),
                "reasoning",
                think_tags=True,
                think_unopened=False,
            ),
            Profile("other", hosts=("localhost:8000",)),
        ),
    ),
    (
        '[[provider]]\nname = "qwen"\ndialects = []\nreasoning_field = "reasoning_content"\n',
        (Profile("qwen", QWEN.models, QWEN.hosts, (), "reasoning_content", think_tags=True),),
    ),
    ('[[provider]]\nname = "standard"\ndialects = ["hermes"]\n', (Profile("standard", dialects=("hermes",)),)),
    (
        '[[provider]]\nname = "gate"\nhosts = ["llm.example.com"]\ntakes = { max_tokens = 64000, efforts = ["low"], prefill = "", thinks = true }\n',
        (Profile("gate", hosts=("llm.example.com",), takes=(("max_tokens", 64000), ("efforts", ("low",)), ("prefill", ""), ("thinks", True)), only_takes=True),),
    ),
    (
        'provider = [{ name = "a", models = ["a"] }, { name = "b", models = ["b"] }]\n',
        (Profile("a", ("a",)), Profile("b", ("b",))),
    ),
]

WRONG = [
    (GATE + "1\n", "4: takes: 1 is not understood, write takes = { max_tokens = 64000 }"),
    (GATE + "{ max_token = 1 }\n", "4: takes: no such fact: 'max_token' (did you mean max_tokens?), write some of: "),
    (GATE + '{ max_tokens = "1" }\n', "4: takes: '1' is not understood, write max_tokens = a whole number"),
    (GATE + "{ thinks = 1 }\n", "4: takes: 1 is not understood, write thinks = true or false"),
    (GATE + '{ prefill = "no" }\n', """4: takes: 'no' is not understood, write prefill = "" or "yes" or "prefix" or "partial\""""),
    (GATE + '{ efforts = "low" }\n', "4: takes: 'low' is not understood, write efforts = "),
    (GATE + '{ refuses = ["messages"] }\n', "4: takes: ['messages'] is not understood, write refuses = changes that leave messages, tools and model"),
    (GATE + '{ schema_rules = ["x"] }\n', "4: takes: ['x'] is not understood, write schema_rules = "),
    # the file, and the sentence behind "<file>:"
    ("provider = 1", "1: provider: 1 is not a list of tables, write [[provider]] and its fields below"),
    ("provider = [1]", "1: provider: [1] is not a list of tables, write [[provider]] and its fields below"),
    (
        '\n[provider]\nname = "a"\n',
        "2: provider: {'name': 'a'} is not a list of tables, write [[provider]] and its fields below",
    ),
    ('[[providers]]\nname = "a"\n', "1: providers is not a setting (did you mean provider?), write one of: "),
    ("\n[[provider]]\nmodels = []\n", '2: provider: it has no name, write name = "my-vllm"'),
    (
        '[[provider]]\nname = "a"\nmodels = ["a"]\n\n[[provider]]\nmodels = ["b"]\nname = "A"\n',
        "5: provider: 'a' is there already, write one table of that name",
    ),
    (
        '\n[[provider]]\nname = "a"\nmodels = []\n',
        "2: provider: 'a' is for no model and no host, write models = [\"my-*\"] or hosts = [\"llm.example.com\"]",
    ),
    (
        '[[provider]]\nname = "a"\nmodels = ["a"]\n[[provider]]\nname = "b"\nmodel = ["b"]\n',
        f"6: model is not a field of a provider (did you mean models?), write some of: {FIELDS}",
    ),
    ('[[provider]]\n"x y" = []\n', f"2: x y is not a field of a provider, write some of: {FIELDS}"),
    ('[[provider]]\nname = " "\n', "2: name: ' ' is not understood, write name = \"my-vllm\""),
    ("[[provider]]\nname = 1\n", '2: name: 1 is not understood, write name = "my-vllm"'),
    ('[[provider]]\nmodels = "a"\n', "2: models: 'a' is not understood, write models = [\"my-*\"]"),
    ('[[provider]]\nmodels = ["a", 1]\n', "2: models: ['a', 1] is not understood, write models = [\"my-*\"]"),
    ('[[provider]]\nmodels = [""]\n', "2: models: [''] is not understood, write models = [\"my-*\"]"),
    (
        '[[provider]]\nhosts = ["http://a.example/v1"]\n',
        "2: hosts: 'http://a.example/v1' is a URL or a path, write the host alone: a.example",
    ),
    (
        '[[provider]]\nhosts = ["a.example:x"]\n',
        "2: hosts: 'a.example:x' is not a host, write it as in llm.example.com, *.corp.example:8443 or localhost:8000",
    ),
    (
        '[[provider]]\nname = "a"\ndialects = [\n  "hermes",\n  "herms",\n]\n',
        f"3: dialects: no such dialect: 'herms' (did you mean hermes?), write some of: {NAMES}",
    ),
    ('[[provider]]\ndialects = ["auto"]\n', f"2: dialects: no such dialect: 'auto', write some of: {NAMES}"),
    (
        '[[provider]]\ndialects = "hermes"\n',
        "2: dialects: 'hermes' is not understood, write dialects = [\"hermes\", \"qwen3_coder\"]",
    ),
    (
        '[[provider]]\nreasoning_field = "thoughts"\n',
        "2: reasoning_field: 'thoughts' is not understood, write reasoning_field = \"reasoning_content\" or ",
    ),
    ('[[provider]]\nthink_tags = "yes"\n', "2: think_tags: 'yes' is not understood, write think_tags = true or false"),
    (
        "[[provider]]\nthink_unopened = 1\n",
        "2: think_unopened: 1 is not understood, write think_unopened = true or false",
    ),
    # a header that is none, and tables that have none: the line is where `provider` first stands
    (
        'flows = """\n[[provider]]\n"""\n[[provider]]\nname = "a"\nmodel = 1\n',
        f"6: model is not a field of a provider (did you mean models?), write some of: {FIELDS}",
    ),
    ('\nprovider = [{ name = "a" }]\n', "2: provider: 'a' is for no model and no host, "),
]


def parsed(text: str, folder: Path) -> tuple[Profile, ...]:
    file = folder / "toolmend.toml"
    file.write_text(text)
    return parse({"config": str(file), "flows": "off"}).providers


@pytest.mark.parametrize(("text", "profiles"), RIGHT)
def test_right(text: str, profiles: tuple[Profile, ...], tmp_path: Path) -> None:
    assert parsed(text, tmp_path) == profiles


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_wrong(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as raised:
        parsed(text, tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / 'toolmend.toml'}:{sentence}")


def test_it_is_what_applies(tmp_path: Path) -> None:
    own = parsed('[[provider]]\nname = "my-vllm"\nmodels = ["my-*"]\nhosts = ["a.example"]\n', tmp_path)
    asked = (("my-x", ""), ("qwen", "a.example"), ("qwen", ""))
    assert [profile_for(model, host, own).name for model, host in asked] == ["my-vllm", "my-vllm", "qwen"]


@pytest.mark.parametrize(
    ("key", "first", "line"),
    [("a", 1, 2), ("a", 3, 6), ("b", 1, 3), ("c.d", 1, 4), ("t", 1, 5), ("none", 1, 1), ("none", 4, 4)],
)
def test_line_of(key: str, first: int, line: int) -> None:
    assert line_of(key, "# a = 1\na = 1\n 'b' = 2\n\"c.d\" = 3\n[[t]]\n  a=2\n", first) == line
