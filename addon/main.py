"""What `mitmdump -s addon/main.py` loads: path set-up, and the addon.

Rule of this file: it can be run again at any time. mitmproxy runs it anew whenever it is touched, and that must reload
the whole package; what still holds on to the old one (a stream that is under way) keeps working with it.
"""

import gc
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_INSTALLED = (_HERE / "__init__.py").exists()  # then it lies inside the package
_ROOT = str(_HERE.parent if _INSTALLED else _HERE)
if _ROOT not in sys.path:  # what else is installed beside the package is not for a mitmproxy that has its own
    sys.path.insert(len(sys.path) if _INSTALLED else 0, _ROOT)
_before = [name for name in sys.modules if name.partition(".")[0] == "toolmend"]
for _name in _before:
    del sys.modules[_name]

gc.disable()  # all that is imported stays; to look for garbage in it, and in mitmproxy, is a tenth of the import
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
