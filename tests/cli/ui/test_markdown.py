"""markdown.py: Markdown as a tree without markup."""

import json

from toolmend.cli.ui.markdown import tree


def test_markdown_has_no_markup() -> None:
    evil = "<script>x</script> [a](javascript:alert(1)) ![b](http://evil/x.png) <img src=x> [c](https://ok.example)"
    told = json.dumps(tree(evil))
    assert '["a", {"href": "https://ok.example"}' in told
    assert "javascript" not in told.partition("href")[2]
    assert '"img"' not in told
    assert '"script"' not in told
    assert tree("```py\nx = 1\n```")[0][:2] == ["pre", {"lang": "py"}]
