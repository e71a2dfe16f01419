"""The texts that stand for what a conversation lacks and an upstream demands. Always the same, so that a prompt's cache holds."""

ERROR = "Error: "
"""Begins the result of a call that failed, where the API has no flag for it."""

NO_RESULT = "there is no result of this call."

EMPTY_RESULT = "(The tool gave nothing.)"
"""Z.ai takes no empty message (code 1214)."""

EMPTY = "(The message is empty.)"

BEGINNING = "(The beginning is left out.)"
"""The user's first message, if the assistant speaks first, as where a client cut the conversation: Messages refuses it
(langchain4j#940, chatbot-ui#1656). It refuses a system alone, too (langchain#30764)."""

CONTINUE = "(Go on exactly where your last message ends.)"
"""The user's last message, if the assistant's is to be continued, where an upstream wants the user to speak last."""

REMINDER = "<system-reminder>\n{}\n</system-reminder>"
"""A later message of the system, as the user's text."""

AS_JSON = "Answer with one JSON object, and nothing else."
"""Asks for the format json_object, and has the word that OpenAI and DeepSeek demand for it."""

NO_IMAGE = "[An image is left out: this upstream takes {}.]"
