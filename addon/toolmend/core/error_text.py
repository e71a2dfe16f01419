"""What may be logged of an exception. Its message may quote a stream, so only the text of an OSError is used.

class_and_place(error)     "ValueError in feed (sse.py:131)"
reason(error)              "No space left on device", "ValueError"
"""

import traceback
from pathlib import Path


def class_and_place(error: BaseException) -> str:
    """Returns the class of a raised exception, and the function, file and line that raised it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {place.name} ({Path(place.filename).name}:{place.lineno})"


def reason(error: BaseException) -> str:
    """Returns the text of an OSError, or the class of any other exception."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else type(error).__name__
