"""The names of OpenTelemetry's semantic conventions for generative AI.

Every `gen_ai.*` name is here only. None of them is stable yet. Source: github.com/open-telemetry/semantic-conventions-genai, and
the stable general conventions for the last blocks.
"""

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
RESPONSE_ID = "gen_ai.response.id"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"

CHAT = "chat"
"""The operation."""

PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "code-assist": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Providers (hosts.py) with another name there; an unlisted one keeps its name."""

CAPTURE_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that puts content into spans."""
IN_SPANS = ("true", "1", "span_only", "span_and_event")
"""Its values that do so, in lower case; `true` is the older one."""

ERROR_TYPE = "error.type"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
HTTP_STATUS = "http.response.status_code"
SERVICE_NAME = "service.name"

API = "toolmend.api"
STATE = "toolmend.state"
RULES = "toolmend.pipeline.rules"
PROFILE = "toolmend.profile"
RECEIVED = "toolmend.received_bytes"
SENT = "toolmend.sent_bytes"
FIRST_TOKEN = "toolmend.time_to_first_token"  # noqa: S105  not a secret
FAILED_OPEN = "toolmend.failed_open"
"""The names of toolmend itself, from API on."""
