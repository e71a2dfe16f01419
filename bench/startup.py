"""The start of mitmdump, with the addon and without; and what importing the addon takes where mitmproxy is imported.

Rule of this file: a start is over when the process says that it listens, and with the addon, when that says so.
"""

import compileall
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from toolmend.cli.launcher.proxy import Mitmdump, addon_path

from .clock import cpu_of
from .table import Figure, Table

IMPORTS = """
import sys, time
import mitmproxy.tools.main, mitmproxy.tools.dump, mitmproxy.addons.script
started = time.process_time()
mitmproxy.addons.script.load_script(sys.argv[1])
print(time.process_time() - started)
"""
"""What mitmdump does with a script, once it has imported what it needs itself."""


def tables(folder: Path, starts: int, progress: Callable[[str], None]) -> list[Table]:
    """Starts of each kind in turn, so many; the best counts."""
    compileall.compile_dir(addon_path().parent, quiet=2)  # done once on any machine, where nothing forbids it to Python
    with Mitmdump({}, confdir=folder / "conf", scripts=[], ready="listening at"):
        pass  # it makes its CA once
    kinds: dict[str, tuple[Sequence[Path], str]] = {
        "mitmdump": ([], "listening at"),
        "mitmdump -s addon/main.py": ([addon_path()], "toolmend: listens"),
    }
    seconds, cpu = dict.fromkeys(kinds, float("inf")), dict.fromkeys(kinds, float("inf"))
    imports = float("inf")
    for turn in range(starts):
        progress(f"start {turn + 1} of {starts}")
        for kind, (scripts, ready) in kinds.items():
            started = time.perf_counter()
            options = {"toolmend_flows": str(folder / "flows")} if scripts else {}
            with Mitmdump(options, confdir=folder / "conf", scripts=scripts, ready=ready) as proxy:
                seconds[kind] = min(seconds[kind], time.perf_counter() - started)
                cpu[kind] = min(cpu[kind], cpu_of(proxy.pid) / 1e9)
        imports = min(imports, _imports())
    table = Table("start", ("seconds", "CPU seconds", "CPU seconds more"), "at most 0.15 s more")
    bare, ours = kinds
    table.add(bare, Figure(seconds[bare]), Figure(cpu[bare]), None)
    table.add(ours, Figure(seconds[ours]), Figure(cpu[ours]), Figure(cpu[ours] - cpu[bare], 0.15))
    table.add("… of that, importing the addon", None, None, Figure(imports, 0.15))
    return [table]


def _imports() -> float:
    command = [sys.executable, "-P", "-c", IMPORTS, str(addon_path())]
    return float(subprocess.run(command, capture_output=True, check=True, encoding="ascii").stdout)
