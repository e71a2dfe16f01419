"""Makes the upstream's request of a route: removes what only the client's provider may see, then translates.

The addon and `toolmend translate` both call `outgoing`, so the command shows exactly what the addon sends.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..providers.model_profiles import Profile, profile_for, taken
from ..secrets.names import are_headers, secret_types
from . import Translated
from .billing import without_billing_line
from .prompted import template_for
from .translate import translate


def outgoing(
    request: Mapping[str, Any],
    client: str,
    upstream: str,
    *,
    model: str = "",
    host: str = "",
    template: str = "",
    providers: Sequence[Profile] = (),
    trusted: bool = False,
    compact: bool = False,
    learnt: tuple[Mapping[str, Any], Sequence[str]] = ({}, ()),
) -> Translated:
    """Returns the upstream's request.

    Args:
        request: The client's body.
        client: The client's API.
        upstream: The upstream's API.
        model: The upstream's model, if it differs from the client's.
        host: The upstream's host, with a port unless it is the scheme's default.
        template: The prompt that describes the tools, for a model without tool calling.
        providers: The user's profiles.
        trusted: Whether the upstream is the origin that the client called, so that it may see credentials in the body.
        compact: Whether the client called `/responses/compact`.
        learnt: Facts and edits learnt from refusals; the user's facts override them.

    Raises:
        RequestError: The upstream cannot serve this request.
    """
    requested = model or request.get("model")
    profile = profile_for(requested, host, providers)
    own = {name: given for name, (given, _) in taken(requested, host, providers).items()}
    known, edits = learnt
    if client == upstream:  # within one API, only edits of the user and of refusals apply
        edits = (*own.get("refuses", ()), *edits)
    passed = request if trusted else _without_credentials(request)
    if client == upstream == "messages":
        passed = without_billing_line(passed, host)
    template = template_for(profile, template)
    system_role = profile.system_role
    return translate(
        passed,
        client,
        upstream,
        model=model,
        host=host,
        template=template,
        system_role=system_role,
        facts={**known, **own},
        compact=compact,
        edits=edits,
    )


def _without_credentials(request: Mapping[str, Any]) -> dict[str, Any]:
    """The body without the credentials that LiteLLM and others accept there: `api_key`, `extra_headers`.

    Credentials of tools stay: they are meant for the server that runs the tool.
    """
    return {
        name: item
        for name, item in request.items()
        if not (isinstance(item, secret_types(name, request)) or are_headers(name, item))
    }
