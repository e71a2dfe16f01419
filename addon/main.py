"""What `mitmdump -s addon/main.py` loads: path set-up, and the addon.

Rule of this file: it can run again at any time. mitmproxy runs it again whenever the file changes, and that must reload
the whole package; an open stream that still refers to the old modules keeps working with them.
"""

import gc
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_INSTALLED = (_HERE / "__init__.py").exists()  # then it is inside the package
_ROOT = str(_HERE.parent if _INSTALLED else _HERE)
if _ROOT not in sys.path:  # last, so that packages installed next to toolmend do not hide mitmproxy's own
    sys.path.insert(len(sys.path) if _INSTALLED else 0, _ROOT)
_before = [name for name in sys.modules if name.partition(".")[0] == "toolmend"]
for _name in _before:
    del sys.modules[_name]

gc.disable()  # imported objects stay alive; garbage collection would take a tenth of the import time
try:
    from toolmend.cli.launcher.probe import Probe
    from toolmend.proxy.addon import Toolmend
    from toolmend.proxy.commands import Commands
    from toolmend.proxy.contentview import Views
    from toolmend.proxy.tls_interception import Interception
    from toolmend.proxy.ui_guard import UiGuard
    from toolmend.proxy.websocket.sockets import Sockets
finally:
    gc.enable()

toolmend = Toolmend(reloaded=bool(_before))
addons = [toolmend, Interception(toolmend), UiGuard(toolmend), Sockets(toolmend), Views(), Commands(), Probe(toolmend)]
