"""What comes with us, and from where: few packages, each with its reason, and mitmdump loads none but mitmproxy's own (R25).

Rule of this file: a package that is added is added here too, on purpose.
"""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from itertools import pairwise

from tests.support.paths import ROOT

PYPROJECT = (ROOT / "pyproject.toml").read_text()
NEEDED = {"mitmproxy", "click", "rich", "jinja2"}
NAME = re.compile(r"[A-Za-z0-9_.-]+")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(name: str) -> set[str]:
    """The packages that one brings, itself too, as they are installed here."""
    found: set[str] = set()
    rest = [name]
    while rest:
        name = plain(rest.pop())
        if name in found:
            continue
        try:
            needs = requires(name) or []
        except PackageNotFoundError:  # for another system
            continue
        found.add(name)
        rest += [match[0] for need in needs if "extra ==" not in need and (match := NAME.match(need))]
    return found


def test_what_an_installation_brings() -> None:
    project = tomllib.loads(PYPROJECT)["project"]
    assert {plain(match[0]) for need in project["dependencies"] if (match := NAME.match(need))} == NEEDED


def test_each_has_its_reason() -> None:
    """On its line, or on the one above, for both."""
    listed = PYPROJECT.partition("\ndependencies = [")[2].partition("\n[project.scripts]")[0]
    reasons = [line for line in listed.splitlines() if re.match(r'\s+"[a-z]', line)]
    assert len(reasons) > 15
    alone = [line for above, line in pairwise(["", *reasons]) if "#" not in line and "#" not in above and "toolmend[" not in line]
    assert alone == []


def test_constraints_are_names_and_versions() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    row = re.compile(r'[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*(; python_version [<>=]+ "3\.\d+")?')
    assert [line for line in lines if not row.fullmatch(line)] == []
    names = [plain(line.partition("==")[0]) for line in lines if ";" not in line]
    assert sorted(set(names)) == sorted(names)
    assert names.index("mitmproxy") >= 0
    unversioned = {plain(need) for name in NEEDED for need in closure(name)} - {plain(line.partition("==")[0]) for line in lines}
    assert unversioned <= {"toolmend", "setuptools", "colorama"}


def test_what_mitmdump_loads() -> None:
    """Of what is not Python's own: ours, what mitmproxy brings, and the faster JSON reader where there is one."""
    code = (
        "import sys; import mitmproxy.tools.main; before = set(sys.modules); sys.argv = ['x']\n"
        "import importlib.util as u\n"
        f"spec = u.spec_from_file_location('main', {str(ROOT / 'addon' / 'main.py')!r})\n"
        "spec.loader.exec_module(u.module_from_spec(spec))\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = set(done.stdout.split()) - set(sys.stdlib_module_names) - {"toolmend", "orjson"}
    brings = closure("mitmproxy")
    of = packages_distributions()
    strangers = {name for name in found if of.get(name) and not {plain(one) for one in of[name]} & brings}
    assert strangers == set()
    assert not {"click", "rich", "jinja2", "prometheus_client", "opentelemetry", "grpc", "fsspec"} & found
