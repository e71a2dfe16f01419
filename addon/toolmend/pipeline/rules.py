"""The rules in words: what each one changes, and why.

    rule("finish_reason").what  →  "The finish reason was corrected: …"

A new rule gets a row here; a test collects the names that fire.
"""

from collections.abc import Collection

from ..core.fastclass import value
from ..dialects import DIALECTS, REASONING_TAGS
from ..dialects.families.leftovers import NAME as LEFTOVERS
from ..dialects.families.role_tokens import NAME as ROLE_TOKENS
from .transformers.entities import RULE as ENTITIES


@value
class Rule:
    """`what` was changed, and `why` a client needs that: a sentence or two each."""

    what: str
    why: str


RULES = {
    # calls and reasoning in the text
    "dialect": Rule(
        "A tool call that the model wrote into its text, in the markup {name}, became a real tool call.",
        "The provider did not parse the model's own markup, so the client would have shown it as text and run no tool.",
    ),
    REASONING_TAGS.name: Rule(
        "Reasoning between tags in the text was moved to where this provider sends its reasoning.",
        "The client would have shown the thoughts as the answer, and sent them back as one.",
    ),
    "reasoning_end": Rule(
        "The end tag of a thought was removed from a text in which no thought had begun.",
        "The chat template opened the thought in the prompt, so only its end is in the text: clients would have shown the tag.",
    ),
    "reasoning_answer": Rule(
        "Text that was sent as reasoning was also sent as the answer.",
        "It was taken for a thought that the prompt or a tag had opened, but no end tag followed: it is the answer.",
    ),
    LEFTOVERS: Rule(
        "Markup that was left over next to a call was removed: the end or beginning of a wrapper, or an empty one.",
        "The call was found by toolmend or by the provider; the client would have shown the rest as the answer.",
    ),
    ROLE_TOKENS: Rule(
        "A token that ends or begins a turn in the model's chat template was removed from the text.",
        "Some servers leave it there, and clients would show it, and send it back as a part of the answer.",
    ),
    "duplicate_call": Rule(
        "A tool call that came a second time was removed.",
        "It came as text and as a real call, or was repeated: the client would have run the tool twice.",
    ),
    "repeated_parameter": Rule(
        "A parameter that occurs more than once in a call became a list if its schema is one; otherwise the last value counts, "
        "or for a long value the first.",
        "Clients read an object with a repeated name differently; and what was sent cannot be taken back.",
    ),
    "hold_limit": Rule(
        "Text that was held because a call seemed to begin in it was sent as text.",
        "It exceeded the limit for held text, so that nothing is lost and the client does not wait.",
    ),
    # deltas of calls
    "tool_calls": Rule(
        "Tool calls in another form were converted: to a list, with the name and arguments of each in its function.",
        "Clients look for them there.",
    ),
    "function_call": Rule(
        "A call in the old form, function_call, became a tool call.",
        "The request offered tools, and a client that offers tools only looks for tool_calls.",
    ),
    "tool_call_id": Rule(
        "The id of a call was corrected: a missing or reused id was replaced, and a late or repeated one is sent once, in the "
        "call's first delta.",
        "The client answers a call by its id, and takes an id for the beginning of a call.",
    ),
    "tool_call_name": Rule(
        "The name of a call was corrected: it is sent once, in the first delta, complete and as in the request; a call without "
        "content was removed.",
        "Clients join the names of deltas, or use the first: a name that is split, repeated, late or decorated matches no tool.",
    ),
    "tool_call_index": Rule(
        "The index of a call was corrected, so that calls count from 0 and each has its own.",
        "Clients join the deltas of one index: two calls with one index become one broken call.",
    ),
    "tool_call_type": Rule("The type of a call was added.", "Strict clients refuse the first delta of a call without it."),
    "arguments": Rule(
        "Missing or null arguments of a call became an empty object; or arguments that came whole, or repeatedly, were sent as "
        "deltas.",
        "The client joins the deltas and parses them, and fails unless they are one object.",
    ),
    "argument_types": Rule(
        "A value in a call's arguments was converted to the type in the tool's schema, or the arguments were taken out of a "
        "member `arguments` that the tool does not declare.",
        "Agents check arguments against the schema, and refuse a list, a number or an object that is sent as a string.",
    ),
    "argument_json": Rule(
        "The arguments of a call were made one JSON object: a fence, tags, text or repetitions around it, comments and trailing "
        "commas were removed, line breaks and lone backslashes escaped, names and strings put in double quotes, Python's words "
        "replaced, and missing closing brackets added.",
        "The client parses them, and fails at anything else.",
    ),
    ENTITIES: Rule(
        "HTML entities in the arguments of a call, such as `&amp;&amp;`, became the characters that they stand for.",
        "The model escapes what it writes, and the client would run or write it that way.",
    ),
    "arguments_type": Rule(
        "The arguments of a call came as an object or null, and became a string of JSON.",
        "Clients join strings there.",
    ),
    # the form of chunks
    "chunk_fields": Rule(
        "A missing or mistyped id, object, created, model or list of choices was added to a chunk or a whole message; token "
        "counts that were strings became numbers, and an `error` of null was removed.",
        "Typed SDKs refuse a chunk without them, and some take any `error` for one.",
    ),
    "choice_index": Rule(
        "A missing index was added to a choice, or two entries of one choice in a chunk were merged.",
        "Clients identify choices by the index, and many read only the first entry.",
    ),
    "content_type": Rule(
        "Text that came as a number or in parts became a string.", "Clients join strings there: they lose anything else, or fail."
    ),
    "delta": Rule(
        "An empty delta was added to a choice without one; an event of Messages without its delta or block was removed.",
        "Clients read the delta without checking that it is there.",
    ),
    "role": Rule(
        "The role, assistant, was added to the first delta, or another role was removed.",
        "SDKs copy it into the message, and refuse any other role.",
    ),
    "finish_reason": Rule(
        "The finish reason was corrected: a word of this API, and tool_calls if and only if there was a call; a missing one was "
        "added.",
        "Agents rely on it: after `stop` they end their turn and run no tool; after `tool_calls` without a call they wait; "
        "without a reason they retry.",
    ),
    "finish_order": Rule(
        "A finish reason that came too early was moved after the text and calls that followed it.",
        "Clients stop reading there.",
    ),
    "finish_repeated": Rule("A repeated finish reason was removed, or one that was withdrawn was kept.", "A message ends once."),
    "stop_sequence": Rule(
        "The answer was ended at a stop sequence of the request, which it names.",
        "The upstream does not support stop sequences, or not this number of them; the client relies on the end of the text.",
    ),
    "usage": Rule(
        "Missing token counts were added, or converted to numbers.",
        "SDKs read them without a check, and Codex takes an answer without them for broken off.",
    ),
    "usage_estimated": Rule(
        "The tokens were estimated.",
        "The upstream sent no counts, and the client needs them to know when its context is full.",
    ),
    # the form of Anthropic Messages
    "message_start": Rule(
        "The beginning of the message was added, or a second one removed.",
        "SDKs refuse a stream that begins with anything else, and start over at a second beginning.",
    ),
    "message_stop": Rule(
        "The end of the message was added.", "SDKs take a message without it for broken off, and agents retry, or wait for it."
    ),
    "event_name": Rule(
        "The name of an event and the type in its data were made equal.",
        "Some clients use the one, some the other.",
    ),
    "block_index": Rule(
        "Content blocks were renumbered, and their deltas assigned to the right ones.",
        "Clients identify blocks by their index, and expect one to end before the next begins.",
    ),
    "block_stop": Rule("A content block that was left open was ended.", "Clients take a call as complete only then."),
    "block_type": Rule(
        "A missing type was added to a content block or its delta, or a bare text became a block.",
        "Clients decide by the type what it is.",
    ),
    "block_text": Rule(
        "A text that was not a string was removed, or text in the start of a block was sent as a delta.",
        "Clients join strings there, and some ignore the start of a block.",
    ),
    # the form of Responses
    "item_added": Rule(
        "A missing announcement of an output item, or of a part of its text, was added.",
        "SDKs fail at a delta of an unknown item, and Codex does not show it.",
    ),
    "item_id": Rule(
        "A missing id was added to an output item, and all of its events got the id of its announcement.",
        "SDKs find an item by its id, and fail if an event has none, or an unknown one.",
    ),
    "item_index": Rule(
        "The output items were renumbered.",
        "SDKs find items by their index, and fail if one has none, or that of another item.",
    ),
    "item_done": Rule(
        "A missing or incomplete end of an output item, or of a part of it, was added.",
        "Codex and others take a message and a call only from the end of its item: they would run no tool.",
    ),
    "response_fields": Rule(
        "A missing id, time, model or output list was added to the start of the response.",
        "SDKs build their answer from it, and fail without them.",
    ),
    "response_output": Rule(
        "The last event of the response was added, or missing items were added to its output.",
        "SDKs take the answer from there, and Codex takes one without it for broken off.",
    ),
    # between events
    "error_form": Rule(
        "An error in the provider's own form was converted to the form that clients read.",
        "They would take it for an incomplete event of another kind, and fail at it or ignore it.",
    ),
    "event_form": Rule(
        "An event or a line was brought into the form that clients of this API read: only its JSON, and terminated; one without "
        "content for them, such as [DONE], was removed.",
        "They read one form, and fail at any other, or ignore it.",
    ),
    "keep_alive": Rule(
        "A keep-alive that came as data became a comment; if the clients read no comments, it was removed, and so was a comment.",
        "Clients parse all data as JSON, and fail at this; a comment keeps the connection open, too. Google's fail at either.",
    ),
    # settings
    "policy_first": Rule(
        "What followed the first call was removed.", "toolmend_policy is `first`: an answer ends with its first call."
    ),
    "policy_collect": Rule(
        "The calls were sent together, and what followed them was removed.",
        "toolmend_policy is `collect`: the calls of a time window are sent at once, and end the answer.",
    ),
    "policy_drain": Rule("The text around the calls was removed.", "toolmend_policy is `drain`: an answer is text, or calls."),
    "policy_limit": Rule(
        "Held content was sent early.",
        "It exceeded toolmend_max_bytes, so the policy gave up what it could not hold.",
    ),
}
"""`dialect` stands for all dialects."""


def rule(name: str, own: Collection[str] = ()) -> Rule:
    """Returns the words for a rule. `own`: the user's dialects. Raises KeyError for an unknown rule."""
    if name in DIALECTS or name in own:
        row = RULES["dialect"]
        return Rule(row.what.format(name=name), row.why)
    return RULES[name]
