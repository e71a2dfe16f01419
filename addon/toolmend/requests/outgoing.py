"""The request that a route sends: the client's, without what is for its own provider alone, as the upstream's API has it.

The addon and `toolmend translate` both call `outgoing`, so that what the command shows is what goes over the wire.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..providers.model_profiles import Profile, profile_for, taken
from ..secrets.names import are_headers, secret_types
from . import Translated
from .billing import unbilled
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
    """Returns the upstream's request. Raises RequestError where the upstream cannot be asked this.

    Args:
        request: the body as the client sent it.
        client: the client's API.
        upstream: the upstream's API.
        model: the model to ask for, if it is another than the client's.
        host: the upstream's host, with a port unless it is the scheme's own.
        template: the prompt that describes the tools, for a model that has no tool calls of its own.
        providers: the user's profiles.
        trusted: the upstream is the origin that the client called, so credentials in the body are for it.
        compact: the client asks for a compacted conversation, at `/responses/compact`.
        learnt: facts and edits that refusals taught; the user's own facts are over them.
    """
    asked = model or request.get("model")
    profile = profile_for(asked, host, providers)
    own = {name: given for name, (given, _) in taken(asked, host, providers).items()}
    known, edits = learnt
    if client == upstream:  # nothing but what the user, or a refusal, says of it
        edits = (*own.get("refuses", ()), *edits)
    passed = request if trusted else _without_credentials(request)
    if client == upstream == "messages":
        passed = unbilled(passed, host)
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
    """The body without the credentials that LiteLLM and others accept in it: `api_key`, `extra_headers`.

    Those of tools stay: the client means them for the server that runs the tool.
    """
    return {
        name: item
        for name, item in request.items()
        if not (isinstance(item, secret_types(name, request)) or are_headers(name, item))
    }
