"""Texts in place of something that an upstream requires and a conversation lacks. They are constant, for the prompt cache."""

ERROR = "Error: "
"""Prefix of the result of a failed call, in APIs without a flag for that."""

NO_RESULT = "there is no result of this call."

REPLY = "OK."
"""What the assistant says between a tool and the user, where an upstream demands it: an empty message is refused."""

ORPHAN = "Result of a tool:\n\n{}"
"""A result without a call, as the user's text."""

EMPTY_RESULT = "(The tool gave nothing.)"
"""Z.ai refuses an empty message (code 1214)."""

EMPTY = "(The message is empty.)"

BEGINNING = "(The beginning is left out.)"
"""User message before a leading assistant message, as when a client cut the conversation: Messages refuses such a request
(langchain4j#940, chatbot-ui#1656). It refuses a request with only a system prompt as well (langchain#30764)."""

CONTINUE = "(Go on exactly where your last message ends.)"
"""User message after an assistant message to continue, for upstreams that require a user message at the end."""

REMINDER = "<system-reminder>\n{}\n</system-reminder>"
"""A later message of the system, as the user's text."""

AS_JSON = "Answer with one JSON object, and nothing else."
"""Asks for the format json_object, with the word JSON that OpenAI and DeepSeek require for it."""

NO_IMAGE = "[An image is left out: this upstream takes {}.]"
