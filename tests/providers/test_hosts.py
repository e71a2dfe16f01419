"""Which requests are ours, by method, host and path; and the names that recordings are filed under."""

import re

import pytest

from toolmend.providers.hosts import PROVIDERS, api_at, fits, known, match, provider, split_port

OURS = [
    ("api.openai.com", "/v1/chat/completions", "chat", "openai"),
    ("api.openai.com", "/v1/responses", "responses", "openai"),
    ("chatgpt.com", "/backend-api/codex/responses", "responses", "chatgpt"),
    ("eu.chatgpt.com", "/backend-api/codex/responses", "responses", "chatgpt"),
    ("me.openai.azure.com", "/openai/deployments/gpt/chat/completions?api-version=1", "chat", "azure"),
    ("me.openai.azure.com", "/openai/v1/responses", "responses", "azure"),
    ("me.services.ai.azure.com", "/anthropic/v1/messages", "messages", "azure"),
    ("me.cognitiveservices.azure.com", "/openai/v1/chat/completions", "chat", "azure"),
    ("api.anthropic.com", "/v1/messages?beta=true", "messages", "anthropic"),
    ("openrouter.ai", "/api/v1/chat/completions", "chat", "openrouter"),
    ("openrouter.ai", "/api/v1/responses", "responses", "openrouter"),
    ("openrouter.ai", "/api/v1/messages", "messages", "openrouter"),
    ("api.moonshot.ai", "/v1/chat/completions", "chat", "moonshot"),
    ("api.moonshot.cn", "/anthropic/v1/messages", "messages", "moonshot"),
    ("api.kimi.com", "/coding/v1/messages", "messages", "kimi"),
    ("api.kimi.com", "/coding/v1/chat/completions", "chat", "kimi"),
    ("dashscope-intl.aliyuncs.com", "/compatible-mode/v1/chat/completions", "chat", "dashscope"),
    ("dashscope.aliyuncs.com", "/api/v1/services/aigc/text-generation/generation", "dashscope", "dashscope"),
    ("coding-intl.dashscope.aliyuncs.com", "/apps/anthropic/v1/messages", "messages", "dashscope"),
    ("api.deepseek.com", "/chat/completions", "chat", "deepseek"),
    ("api.deepseek.com", "/beta/v1/chat/completions", "chat", "deepseek"),
    ("api.z.ai", "/api/coding/paas/v4/chat/completions", "chat", "zai"),
    ("open.bigmodel.cn", "/api/anthropic/v1/messages", "messages", "zai"),
    ("api.minimaxi.com", "/v1/chat/completions", "chat", "minimax"),
    ("router.huggingface.co", "/v1/chat/completions", "chat", "huggingface"),
    ("api.githubcopilot.com", "/chat/completions", "chat", "copilot"),
    ("api.business.githubcopilot.com", "/v1/messages", "messages", "copilot"),
    ("models.github.ai", "/inference/chat/completions", "chat", "github"),
    ("generativelanguage.googleapis.com", "/v1beta/models/g:streamGenerateContent?alt=sse", "gemini", "google"),
    ("generativelanguage.googleapis.com", "/v1beta/openai/chat/completions", "chat", "google"),
    (
        "europe-west1-aiplatform.googleapis.com",
        "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent",
        "gemini",
        "vertex",
    ),
    (
        "aiplatform.googleapis.com",
        "/v1/projects/p/locations/l/publishers/anthropic/models/claude@1:streamRawPredict",
        "messages",
        "vertex",
    ),
    (
        "aiplatform.googleapis.com",
        "/v1beta1/projects/p/locations/l/endpoints/openapi/chat/completions",
        "chat",
        "vertex",
    ),
    ("cloudcode-pa.googleapis.com", "/v1internal:streamGenerateContent?alt=sse", "gemini", "code-assist"),
    ("bedrock-runtime.us-east-1.amazonaws.com", "/model/m/converse-stream", "bedrock", "bedrock"),
    ("localhost:11434", "/api/chat", "ollama", "ollama"),
    ("127.0.0.1:11434", "/v1/chat/completions", "chat", "ollama"),
    ("ollama.com", "/v1/chat/completions", "chat", "ollama"),
    ("[::1]:8000", "/v1/chat/completions", "chat", "vllm"),
    ("localhost:1234", "/v1/chat/completions", "chat", "lmstudio"),
    ("localhost:8080", "/v1/messages", "messages", "llamacpp"),
    ("localhost:4000", "/v1/responses", "responses", "litellm"),
    ("api.cohere.com", "/v2/chat", "cohere", "cohere"),
    ("api.cohere.com", "/compatibility/v1/chat/completions", "chat", "cohere"),
    # spelled in other ways
    ("OpenRouter.AI", "/api/v1/chat/completions", "chat", "openrouter"),
    ("openrouter.ai.:443", "/api/v1/chat/completions/", "chat", "openrouter"),
]

COMPATIBLE = [
    "api.groq.com/openai/v1",
    "api.together.xyz/v1",
    "api.together.ai/v1",
    "api.fireworks.ai/inference/v1",
    "api.mistral.ai/v1",
    "codestral.mistral.ai/v1",
    "api.x.ai/v1",
    "cli-chat-proxy.grok.com/v1",
    "api.sambanova.ai/v1",
    "api.novita.ai/openai",
    "api.novita.ai/v3/openai",
    "api.siliconflow.com/v1",
    "api.siliconflow.cn/v1",
    "api.deepinfra.com/v1/openai",
    "integrate.api.nvidia.com/v1",
    "api.perplexity.ai",
    "inference.baseten.co/v1",
    "llm.chutes.ai/v1",
    "api.tokenfactory.nebius.com/v1",
    "api.studio.nebius.ai/v1",
    "router.requesty.ai/v1",
    "ai-gateway.vercel.sh/v1",
    "api.kilo.ai/api/gateway",
    "api.kilo.ai/api/openrouter",
    "api.xiaomimimo.com/v1",
    "api.stepfun.com/v1",
    "api.poe.com/v1",
    "api-inference.modelscope.cn/v1",
    "apis.iflow.cn/v1",
    "api.synthetic.new/v1",
    "opencode.ai/zen/v1",
    "opencode.ai/zen/go/v1",
    "hyper.charm.land/v1",
    "api.cerebras.ai/v1",
    "api.venice.ai/v1",
    "portal.qwen.ai/v1",
    "dashscope-us.aliyuncs.com/v1",
    "api.individual.githubcopilot.com",
    "api.enterprise.githubcopilot.com",
    "coding.dashscope.aliyuncs.com/v1",
    "api.minimax.io/v1",
]

NOT_OURS = [
    ("GET", "api.openai.com", "/v1/chat/completions"),
    ("GET", "chatgpt.com", "/backend-api/codex/responses"),  # a WebSocket upgrade
    ("POST", "api.openai.com", "/v1/embeddings"),
    ("POST", "api.openai.com", "/v1/threads/t/messages"),
    ("POST", "api.openai.com", "/v1/responses/r/cancel"),
    ("POST", "api.anthropic.com", "/v1/messages/count_tokens"),
    ("POST", "api.anthropic.com", "/v1/messages/batches"),
    ("POST", "api.anthropic.com", "/api/event_logging/messages"),
    ("POST", "evil-openrouter.ai", "/api/v1/chat/completions"),
    ("POST", "openrouter.ai.evil.example", "/api/v1/chat/completions"),
    ("POST", "api.moonshot.ai", "/v1/files?next=/v1/chat/completions"),
    ("POST", "chatgpt.com", "/backend-api/conversation/responses"),
    ("POST", "ab.chatgpt.com", "/backend-api/codex/responses"),
    ("POST", "me.openai.azure.com", "/openai/threads/t/messages"),
    ("POST", "aiplatform.googleapis.com", "/v1/publishers/mistralai/models/m:streamRawPredict"),
    ("POST", "localhost:8000", "/survey/responses"),
    ("POST", "localhost:9000", "/v1/chat/completions"),
    ("POST", "localhost", "/v1/chat/completions"),
    ("POST", "github.com", "/v1/chat/completions"),
    ("POST", "", "/v1/chat/completions"),
    ("POST", "[::1", "/v1/chat/completions"),
    ("POST", "openrouter.ai", ""),
]

EXTRA = [
    # glob, host, path, api
    ("llm.example.com", "llm.example.com:8443", "/any/where/chat/completions", "chat"),
    ("llm.example.com", "llm.example.com", "/v1/messages/count_tokens", None),
    ("llm.example.com", "llm.example.com", "/v1/models", None),
    ("llm.example.com", "api.llm.example.com", "/v1/responses", None),
    ("LLM.example.com", "llm.EXAMPLE.com.", "/v1/responses", "responses"),
    ("*.corp.example:8443", "a.b.corp.example:8443", "/v1/messages", "messages"),
    ("*.corp.example:8443", "a.corp.example:443", "/v1/messages", None),
    ("*.corp.example:8443", "corp.example:8443", "/v1/messages", None),
    ("localhost:9000", "localhost:9000", "/chat/completions", "chat"),
    ("[::1]:9000", "[::1]:9000", "/chat/completions", "chat"),
    ("::1", "[::1]:9000", "/chat/completions", "chat"),
    ("*", "10.0.0.7:81", "/v1beta/models/g:generateContent", "gemini"),
    ("gpu?", "gpu1:11434", "/api/generate", "ollama"),
    # an inner star stands for no dot: the name behind it could be of another's bucket
    ("llm.*.example.com", "llm.eu.example.com", "/v1/responses", "responses"),
    ("llm.*.example.com", "llm.bucket.s3.example.com", "/v1/responses", None),
    ("llm-*.example.com", "llm-a.b.example.com", "/v1/responses", None),
    ("192.168.*", "192.168.1.5:8000", "/v1/responses", "responses"),
    ("*.*", "a.b.c", "/v1/responses", "responses"),
    ("*example.com", "llm.example.com", "/v1/responses", "responses"),
    # a host of the table stays what it is
    ("*", "api.openai.com", "/v1/threads/t/messages", None),
]

NAMES = [
    ("openrouter.ai", "openrouter"),
    ("llm.example.com:8443", "example"),
    ("llm.example.co.uk", "example"),
    ("co.uk", "co"),
    ("example", "example"),
    ("Api.Under_Score.example.", "under-score"),
    ("10.0.0.7:81", "10-0-0-7"),
    ("[2001:db8::1]:81", "2001-db8-1"),
    ("../../etc", "unknown"),
    ("", "unknown"),
    ("...", "unknown"),
    ("bücher.example", "b-cher"),
    ("x" * 300 + ".example", "x" * 40),
]


@pytest.mark.parametrize(("host", "path", "api", "name"), OURS)
def test_the_table(host: str, path: str, api: str, name: str) -> None:
    assert match("POST", host, path) == api
    assert match("post", host, path) == api
    assert provider(host) == name


@pytest.mark.parametrize("base", COMPATIBLE)
def test_compatible_hosts(base: str) -> None:
    host, _, path = base.partition("/")
    assert match("POST", host, f"/{path}/chat/completions") == "chat"
    assert provider(host) != "unknown"


def test_a_path_is_told_by_its_end() -> None:
    long = "/" + "a" * 70_000
    for path in (f"{long}/v1/chat/completions", f"/v1/chat/completions?{long}"):
        assert match("POST", "openrouter.ai", path) == "chat"
    assert match("POST", "openrouter.ai", f"/v1/chat/completions{long}") is None


@pytest.mark.parametrize(("method", "host", "path"), NOT_OURS)
def test_everything_else(method: str, host: str, path: str) -> None:
    assert match(method, host, path) is None


@pytest.mark.parametrize(
    ("host", "globs", "is_known"),
    [
        ("api.openai.com:443", (), True),
        ("chatgpt.com:443", (), True),
        ("eu.chatgpt.com:443", (), True),
        # telemetry, accounts, files, packages
        *(
            (f"{name}:443", (), False)
            for name in (
                *("ab.chatgpt.com", "AB.chatgpt.com.", "auth.chatgpt.com", "cdn.chatgpt.com", "auth.openai.com"),
                *("statsig.anthropic.com", "claude.ai", "platform.claude.com", "sentry.io", "o1.ingest.sentry.io"),
                *("auth.kimi.com", "cdn.kimi.com", "play.googleapis.com", "oauth2.googleapis.com", "www.googleapis.com"),
                *("copilot-telemetry.githubusercontent.com", "collector.github.com", "api.github.com", "default.exp-tas.com"),
                *("github.com", "codeload.github.com", "registry.npmjs.org", "pypi.org", "files.pythonhosted.org"),
                *("models.dev", "s3.us-east-1.amazonaws.com", "bedrock.us-east-1.amazonaws.com", "ampcode.com"),
                *("me.blob.core.windows.net", "login.microsoftonline.com", "gold-aliyuncs.com", "rum.aliyuncs.com"),
            )
        ),
        # what the user names is what the user wants
        ("ab.chatgpt.com:443", ("*.chatgpt.com",), True),
        ("llm.example.com:443", ("llm.example.com",), True),
        ("llm.example.com:443", ("llm.example.com:8443",), False),
    ],
)
def test_hosts_that_are_llms(host: str, globs: tuple[str, ...], is_known: bool) -> None:
    assert known(host, globs) == is_known


@pytest.mark.parametrize(("glob", "host", "path", "api"), EXTRA)
def test_extra_globs(glob: str, host: str, path: str, api: str | None) -> None:
    assert match("POST", host, path, (glob,)) == api


@pytest.mark.parametrize(("host", "name"), NAMES)
def test_names(host: str, name: str) -> None:
    assert provider(host) == name


def test_the_table_is_sound() -> None:
    hosts = [host for row in PROVIDERS for host in row.hosts]
    assert len(hosts) == len(set(hosts))
    assert len({row.name for row in PROVIDERS}) == len(PROVIDERS)
    assert all(re.fullmatch(r"[a-z0-9-]+", row.name) for row in PROVIDERS)
    assert all(host == host.lower() for host in hosts)
    globs = [(row, other) for row in PROVIDERS for other in row.others]
    assert all(any(fits(other, "", host) for host in row.hosts if "*" in host) for row, other in globs)


def test_a_star_of_the_table_stands_for_no_dot() -> None:
    for row in PROVIDERS:
        for glob in row.hosts:
            if "*" in glob or "[" in glob.strip("[]:0123456789"):
                one = glob.replace("[a-z]", "e").replace("[0-9]", "1")
                assert known(one.replace("*", "west"))
                for more in ("a.b", "x.s3", "", ".", "a.", "a/b.c"):
                    name = one.replace("*", more)
                    assert more == "" or not known(name), name
                assert not known(f"{one.replace('*', 'west')}.evil.example")


@pytest.mark.parametrize("bucket", ["s3", "s3-us-west-2", "s3.us-west-2", "x.s3", "s3-website-us-east-1", "s3-accelerate", "us-east-1.x"])
def test_a_bucket_is_no_bedrock(bucket: str) -> None:
    assert not known(f"bedrock-runtime.{bucket}.amazonaws.com")
    assert known("bedrock-runtime.us-gov-west-1.amazonaws.com")


@pytest.mark.parametrize(
    ("host", "parts"),
    [
        ("LLM.example.com.:8443", ("llm.example.com", "8443")),
        ("llm.example.com", ("llm.example.com", "")),
        ("[::1]:80", ("::1", "80")),
        ("[::1]", ("::1", "")),
        ("::1", ("::1", "")),
    ],
)
def test_split_port(host: str, parts: tuple[str, str]) -> None:
    assert split_port(host) == parts


@pytest.mark.parametrize(
    ("path", "api"),
    [
        ("/v1/chat/completions", "chat"),
        ("/api/v1/chat/completions/?a=b", "chat"),
        ("/responses", "responses"),
        ("/anthropic/v1/messages", "messages"),
        ("/v1/messages/count_tokens", None),
        ("/v1beta/models/x:streamGenerateContent", "gemini"),
        ("/v1/publishers/anthropic/models/claude:streamRawPredict", "messages"),
        ("/api/generate", "ollama"),
        ("/v1/models", None),
        ("", None),
    ],
)
def test_spoken(path: str, api: str | None) -> None:
    assert api_at(path) == api
