"""The rules, in words: what each does when it fires, and why.

    rule("finish_reason").what  →  "The finish reason was set right."

Rule of this file: data. Whoever lets a rule fire under a new name adds its row here; a test collects the names.
"""


from collections.abc import Collection

from ..core.fastclass import value
from ..dialects import DIALECTS, REASONING_TAGS
from ..dialects.families.leftovers import NAME as LEFTOVERS
from ..dialects.families.role_tokens import NAME as ROLE_TOKENS
from .transformers.entities import RULE as ENTITIES


@value
class Rule:
    """Two sentences, or one each: `what` is done, and `why` a client needs it."""

    what: str
    why: str


RULES = {
    # calls and reasoning that stood in the text
    "dialect": Rule(
        "A tool call that the model wrote into its text, in the markup {name}, became a real tool call.",
        "The provider did not parse the model's own markup, so the client would have shown it as text and run no tool.",
    ),
    REASONING_TAGS.name: Rule(
        "Reasoning that stood in the text between tags went to where this provider has its reasoning.",
        "The client would have shown the thoughts as the answer, and sent them back as one.",
    ),
    "reasoning_end": Rule(
        "The end tag of a thought was left out of the text, where nothing had begun one.",
        "The chat template opened the thought in the prompt, so only its end is in the text: clients would have shown the tag.",
    ),
    "reasoning_answer": Rule(
        "Text that was sent as reasoning was sent as the answer, too.",
        "It was taken for a thought that the prompt opened, or that a tag began, and no end tag came: it is the answer.",
    ),
    LEFTOVERS: Rule(
        "Markup that was left over next to a call was removed: the end or beginning of a wrapper, or an empty one.",
        "The call was found, by itself or by the provider; the client would have shown the rest as the answer.",
    ),
    ROLE_TOKENS: Rule(
        "A token that ends or begins a turn in the model's chat template was left out of the text.",
        "Servers leave it there, and clients would show it, and send it back as a part of the answer.",
    ),
    "duplicate_call": Rule(
        "A tool call that came a second time was left out.",
        "It came as text and as a real call, or was repeated: the client would have run the tool twice.",
    ),
    "repeated_parameter": Rule(
        "A parameter that a call gave more than once became a list where its schema is one; else the last value counts, or of a "
        "long one the first.",
        "Arguments with one name twice are no object that all clients read alike; what has been sent cannot be taken back.",
    ),
    "hold_limit": Rule(
        "Text that was held because a call seemed to begin in it was given back as text.",
        "It got longer than anything that is held, so nothing is lost and nothing is kept waiting.",
    ),
    # deltas of calls
    "tool_calls": Rule(
        "Tool calls that came in another form got theirs: a list, with the name and arguments of each in its function.",
        "Clients look for them there.",
    ),
    "function_call": Rule(
        "A call in the old form, function_call, became a tool call.",
        "The request offered tools, and a client that did so looks for tool_calls alone.",
    ),
    "tool_call_id": Rule(
        "The id of a call was set right: one was made where there was none or it was used before, and one that was said again or "
        "late was said once, with the call's first delta.",
        "The client answers a call by its id, and takes an id as the beginning of a call.",
    ),
    "tool_call_name": Rule(
        "The name of a call was set right: said once, with its first delta, whole and as the tool is called in the request; "
        "and a call that says nothing was left out.",
        "Clients join the names of deltas, or go by the first: a name that is split, repeated, late or decorated is no tool.",
    ),
    "tool_call_index": Rule(
        "The index of a call was set right, so that calls are counted from 0 and each has its own.",
        "Clients join the deltas of one index: two calls at one index become one that is broken.",
    ),
    "tool_call_type": Rule("The type of a call was added.", "Strict clients refuse the first delta of a call without it."),
    "arguments": Rule(
        "A call without arguments, or with null, got an empty object; or its arguments came at once, or again and again, and "
        "were told in deltas.",
        "The client joins the deltas and parses them, and fails at anything but one object.",
    ),
    "argument_types": Rule(
        "A value in a call's arguments got the type that the tool's schema asks for, or they were taken out of a wrapper "
        "that the tool does not declare, a member called arguments.",
        "Agents check arguments against the schema, and refuse a list, a number or an object that came as a text.",
    ),
    "argument_json": Rule(
        "The arguments of a call were made one JSON object: without a fence, tags, text or the same again around it, comments in "
        "it or a comma at its end; with line breaks and lone backslashes escaped, names and texts in double quotes, words of "
        "Python's in JSON, and the closing brackets that it lacked.",
        "The client parses them, and fails at anything else.",
    ),
    ENTITIES: Rule(
        "HTML entities in the arguments of a call, `&amp;&amp;` for `&&`, became the characters that they stand for.",
        "The model escapes what it writes, and the client would run or write it so.",
    ),
    "arguments_type": Rule(
        "The arguments of a call came as an object or null, and were made the text that they are on the wire.",
        "Clients join texts there.",
    ),
    # the form of chunks
    "chunk_fields": Rule(
        "A chunk, or a whole message, got the id, object, created, model or list of choices that it lacked, or had in a wrong "
        "type; counts of tokens that were text are numbers, and an `error` that is null is left out.",
        "SDKs with types refuse a chunk without them, and some take any `error` for one.",
    ),
    "choice_index": Rule(
        "A choice got the index that it lacked, or what a chunk told of one choice in two was told in one.",
        "Clients tell choices by it, and many hear the first alone.",
    ),
    "content_type": Rule(
        "A text that came as a number or in parts was made a text.", "Clients join texts there: they lose it, or refuse it."
    ),
    "delta": Rule(
        "A choice without a delta got an empty one; an event of Messages without its delta or block was left out.",
        "Clients look into it without asking.",
    ),
    "role": Rule(
        "The first delta got its role, assistant, and one with another role lost that.",
        "SDKs make the message of it, and refuse what is no role of an answer.",
    ),
    "finish_reason": Rule(
        "The finish reason was set right: a word of this API, and tool_calls if there was a call, and only then; or it was made.",
        "Agents go by it: after `stop` they end their turn and run no tool; after `tool_calls` without a call they wait; without "
        "any they try again.",
    ),
    "finish_order": Rule(
        "A finish reason that came too early was put behind the text and calls that followed it.",
        "Clients stop reading there.",
    ),
    "finish_repeated": Rule(
        "A finish reason that was said again was left out, or one that was taken back stands.", "A message ends once."
    ),
    "stop_sequence": Rule(
        "The answer was ended at a stop sequence of the request, and tells which it was.",
        "The upstream knows no such sequences, or not so many; the client relies on it that nothing comes behind one.",
    ),
    "usage": Rule(
        "The usage got the counts that it lacked, or was added; one that was no number became one.",
        "SDKs look into it without asking, and Codex takes an answer that lacks one for broken off.",
    ),
    "usage_estimated": Rule(
        "The tokens were estimated.",
        "The upstream told none, and the client needs them to know when its context is full.",
    ),
    # the form of Anthropic Messages
    "message_start": Rule(
        "The beginning of the message was made, or left out where it came again.",
        "SDKs refuse a stream that begins with anything else, and begin anew at a second one.",
    ),
    "message_stop": Rule(
        "The end of the message was made.", "SDKs take a message without it for broken off, and agents ask again, or wait for it."
    ),
    "event_name": Rule(
        "The name of an event and the type in its data were made the same.",
        "Some clients go by the one, some by the other.",
    ),
    "block_index": Rule(
        "Content blocks were counted anew, and their deltas put where they belong.",
        "Clients tell blocks by their index, and expect one to end before the next begins.",
    ),
    "block_stop": Rule("A content block was ended that was left open.", "Clients take a call as complete only then."),
    "block_type": Rule(
        "A content block, or a delta of one, got the type that it lacked, or a bare text its block.",
        "Clients tell by it what it is.",
    ),
    "block_text": Rule(
        "A text that was none was left out, or one that came with the start of its block was told in deltas.",
        "Clients join texts there, and some begin with nothing.",
    ),
    # the form of Responses
    "item_added": Rule(
        "An item of the output, or a part of its text, was announced that the provider did not announce.",
        "SDKs fail at a delta of what they do not know, and Codex does not show it.",
    ),
    "item_id": Rule(
        "An item of the output got the id that it lacked, and all of its events the one that it was announced by.",
        "SDKs find an item by its id, and fail where an event has none, or one that they do not know.",
    ),
    "item_index": Rule(
        "The items of the output were counted anew.",
        "SDKs tell items by their place, and fail where one has none, or another's.",
    ),
    "item_done": Rule(
        "An item of the output, or a part of it, was ended that was left open, or whose end did not say all of it.",
        "Codex and others take a message and a call only from the end of its item: they would run no tool.",
    ),
    "response_fields": Rule(
        "The response got the id, time, model or list of output that it lacked where it began.",
        "SDKs make their answer of it, and fail without.",
    ),
    "response_output": Rule(
        "The last event of the response was made, or got the items that its output lacked.",
        "SDKs take the answer from there, and Codex takes one without it for broken off.",
    ),
    # between events
    "error_form": Rule(
        "An error that the provider told in a form of its own was told in the one that clients know.",
        "They would take it for something else that lacks what it needs, and fail at that or pass it over.",
    ),
    "event_form": Rule(
        "An event, or a line, was told as clients of this API read it: with nothing beside its JSON, ended; and one that says "
        "nothing to them, as [DONE], was left out.",
        "They know one form, and fail at what is in another, or pass it over.",
    ),
    "keep_alive": Rule(
        "A keep-alive that came as data was made a comment; where clients read no comments, it was left out, and so was one.",
        "Clients parse all data as JSON, and fail at this; a comment keeps the connection just as well. Google's fail at either.",
    ),
    # what was asked for
    "policy_first": Rule(
        "What came behind the first call was left out.", "toolmend_policy says `first`: an answer ends with its first call."
    ),
    "policy_collect": Rule(
        "The calls went out together, and what came behind them was left out.",
        "toolmend_policy says `collect`: calls of a time go out at once, and end the answer.",
    ),
    "policy_drain": Rule(
        "The text beside the calls was left out.", "toolmend_policy says `drain`: an answer is text, or calls."
    ),
    "policy_limit": Rule(
        "What was held went out before its time.",
        "It was more than toolmend_max_bytes, so the policy gave up what it could not hold.",
    ),
}
"""`dialect` stands for all of them."""


def rule(name: str, own: Collection[str] = ()) -> Rule:
    """The words for a name; `own`: dialects of the user's. Raises KeyError for one that no rule has."""
    if name in DIALECTS or name in own:
        row = RULES["dialect"]
        return Rule(row.what.format(name=name), row.why)
    return RULES[name]
