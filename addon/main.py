"""What `mitmdump -s addon/main.py` loads: path set-up, and the addon.

Rule of this file: it can be run again at any time. mitmproxy runs it anew whenever it is touched, and that must reload
the whole package; what still holds on to the old one (a stream that is under way) keeps working with it.
"""

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

from toolmend.commands import Commands  # noqa: E402  (the lines above decide which toolmend this is)
from toolmend.hook import Toolmend  # noqa: E402
from toolmend.interception import Interception  # noqa: E402
from toolmend.running.probe import Probe  # noqa: E402
from toolmend.views.contentview import Views  # noqa: E402
from toolmend.websocket.sockets import Sockets  # noqa: E402

toolmend = Toolmend(again=bool(_before))
addons = [toolmend, Interception(toolmend), Sockets(toolmend), Views(), Commands(), Probe(toolmend)]
