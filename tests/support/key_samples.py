"""What keys look like that somebody may leave in a file: drawn from what their issuers say of them, not from what is looked for here.

    "ghp_{36b}"  →  ghp_ and 36 characters of base 62

Rule of this file: a row has its source; a shape is written as its issuer draws it, and is no example of any page.
"""

import random
import re
import string

_ALPHABETS = {
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "d": string.digits,
    "a": string.ascii_lowercase,
    "A": string.ascii_uppercase,
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "b": string.ascii_letters + string.digits,
    "u": string.ascii_letters + string.digits + "_-",  # base64 of URLs
    "s": string.ascii_letters + string.digits + "+/",
}
_PART = re.compile(r"\{(\d+)([a-zA-Z])\}")
_UUID = "{8h}-{4h}-4{3h}-8{3h}-{12h}"

LLM = {
    # platform.openai.com, console.anthropic.com, and the key pages of the others
    "OpenAI, first": "sk-{20b}T3BlbkFJ{20b}",
    "OpenAI, project": "sk-proj-{74u}T3BlbkFJ{74u}",
    "OpenAI, service account": "sk-svcacct-{58u}T3BlbkFJ{58u}",
    "OpenAI, admin": "sk-admin-{58u}T3BlbkFJ{58u}",
    "Anthropic": "sk-ant-api03-{93u}AA",
    "Anthropic, admin": "sk-ant-admin01-{93u}AA",
    "Anthropic, OAuth": "sk-ant-oat01-{93u}AA",
    "OpenRouter": "sk-or-v1-{64h}",
    "DeepSeek": "sk-{32h}",
    "Moonshot": "sk-{48b}",
    "LiteLLM": "sk-{22u}",
    "Google": "AIza{35u}",
    "Google, of a service account": "AQ.{50u}",
    "Google, OAuth": "ya29.{60u}",
    "Google, client": "GOCSPX-{28u}",
    "Groq": "gsk_{52b}",
    "xAI": "xai-{80b}",
    "Hugging Face": "hf_{34b}",
    "Hugging Face, OAuth": "hf_oauth_eyJ{60u}",
    "Hugging Face, organization": "api_org_{34b}",
    "Perplexity": "pplx-{48b}",
    "Cerebras": "csk-{48l}",
    "Fireworks": "fw_{22b}",
    "Together": "tgp_v1_{43u}",
    "Replicate": "r8_{37b}",
    "NVIDIA": "nvapi-{64u}",
    "Bedrock": "ABSK{120s}",
    "Bedrock, short-term": "bedrock-api-key-{400s}",
    "Voyage": "pa-{43u}",
    "Jina": "jina_{32h}{28b}",
    "ElevenLabs": "sk_{48h}",
    "Langfuse": f"sk-lf-{_UUID}",
    "LangSmith": "lsv2_pt_{32h}_{10h}",
    "Tavily": "tvly-dev-{32b}",
    "Pinecone": "pcsk_{6b}_{63b}",
    "E2B": "e2b_{40h}",
    "Firecrawl": "fc-{32h}",
    "Weights & Biases": "wandb_v1_{70b}",
    "Vercel AI Gateway": "vck_{56b}",
}
CODE = {
    # docs.github.com and docs.gitlab.com on token formats, docs.npmjs.com, pypi.org/help, guides.rubygems.org, doc.rust-lang.org/cargo
    "GitHub": "ghp_{36b}",
    "GitHub, OAuth": "gho_{36b}",
    "GitHub, user": "ghu_{36b}",
    "GitHub, app": "ghs_{36b}",
    "GitHub, app, with a JWT": "ghs_{7d}_eyJ{33u}.eyJ{200u}.{86u}",
    "GitHub, refresh": "ghr_{36b}",
    "GitHub, fine": "github_pat_{22b}_{59b}",
    "GitLab": "glpat-{20u}",
    "GitLab, routable": "glpat-{27u}.01.{2l}{7l}",
    "GitLab, trigger": "glptt-{40h}",
    "GitLab, deploy": "gldt-{20u}",
    "GitLab, runner": "glrt-{20u}",
    "GitLab, job": "glcbt-64_{20u}",
    "GitLab, feed": "glft-{20u}",
    "GitLab, agent": "glagent-{50u}",
    "GitLab, OAuth": "gloas-{64h}",
    "Bitbucket": "ATBB{32b}",
    "npm": "npm_{36b}",
    "PyPI": "pypi-AgEIcHlwaS5vcmc{80u}",
    "RubyGems": "rubygems_{48h}",
    "crates.io": "cio{32b}",
    "Clojars": "CLOJARS_{60l}",
    "Buildkite": "bkua_{40h}",
    "CircleCI": "CCIPAT_{22b}_{40h}",
    "Sourcegraph": "sgp_{16h}_{40h}",
    "SonarQube": "squ_{40h}",
    "Sentry": "sntrys_eyJ{60s}",
    "Sentry, user": "sntryu_{64h}",
    "Postman": "PMAK-{24h}-{34h}",
    "Linear": "lin_api_{40b}",
    "Atlassian": "ATATT3xFfGF0{180u}",
    "Figma": "figd_{40u}",
    "Notion": "ntn_{46b}",
    "Notion, first": "secret_{43b}",
    "Airtable": "pat{14b}.{64h}",
    "Contentful": "CFPAT-{43u}",
    "Typeform": "tfp_{40u}_{18u}",
    "WakaTime": f"waka_{_UUID}",
    "Artifactory": "AKCp8{68b}",
}
CLOUD = {
    # docs.aws.amazon.com "IAM identifiers", learn.microsoft.com, cloud consoles' key pages
    "AWS": "AKIA{16U}",
    "AWS, session": "ASIA{16U}",
    "AWS, bearer": "ABIA{16U}",
    "Azure, client": "{3b}8Q~{34u}",
    "Alibaba": "LTAI{20b}",
    "DigitalOcean": "dop_v1_{64h}",
    "DigitalOcean, OAuth": "doo_v1_{64h}",
    "Databricks": "dapi{32h}",
    "Docker": "dckr_pat_{27u}",
    "Docker, organization": "dckr_oat_{32u}",
    "Doppler": "dp.pt.{43b}",
    "Doppler, service": "dp.st.dev.{43b}",
    "1Password": "ops_eyJ{300s}",
    "Vault": "hvs.{95u}",
    "Vault, batch": "hvb.{140u}",
    "Terraform": "{14b}.atlasv1.{65u}",
    "Pulumi": "pul-{40h}",
    "Tailscale": "tskey-auth-{12b}CNTRL-{32b}",
    "Tailscale, API": "tskey-api-{12b}CNTRL-{32b}",
    "Fly": "fo1_{43u}",
    "Heroku": "HRKU-AA{58u}",
    "Netlify": "nfp_{36b}",
    "Render": "rnd_{28b}",
    "PlanetScale": "pscale_tkn_{43u}",
    "PlanetScale, password": "pscale_pw_{43u}",
    "Supabase": "sbp_{40h}",
    "Supabase, secret": "sb_secret_{22u}_{8u}",
    "Neon": "napi_{64l}",
    "Grafana": "glsa_{32b}_{8h}",
    "Grafana, cloud": "glc_eyJ{100s}",
    "New Relic": "NRAK-{27U}",
    "Dynatrace": "dt0c01.{24U}.{64U}",
    "Axiom": f"xaat-{_UUID}",
    "OpenShift": "sha256~{43u}",
    "Yandex": "AQVN{36u}",
    "age": "AGE-SECRET-KEY-1{58U}",
}
MONEY_AND_MAIL = {
    # docs.stripe.com/keys, docs.slack.dev, and the key pages of the others
    "Stripe": "sk_live_{99b}",
    "Stripe, test": "sk_test_{24b}",
    "Stripe, restricted": "rk_live_{99b}",
    "Stripe, restricted test": "rk_test_{99b}",
    "Stripe, webhook": "whsec_{32b}",
    "Slack, bot": "xoxb-{12d}-{13d}-{24b}",
    "Slack, user": "xoxp-{12d}-{12d}-{13d}-{32h}",
    "Slack, rotated": "xoxe.xoxp-1-{166b}",
    "Slack, refresh": "xoxe-1-{146b}",
    "Slack, app": "xapp-1-A{10U}-{13d}-{64h}",
    "Slack, of a browser": "xoxd-{60b}%2B{40b}%2F{20b}%3D",
    "Slack, webhook": "https://hooks.slack.com/services/T{10U}/B{10U}/{24b}",
    "Discord": "MT{24b}.G{5u}.{38u}",
    "Discord, webhook": "https://discord.com/api/webhooks/{19d}/{68u}",
    "Telegram": "{10d}:AA{33u}",
    "SendGrid": "SG.{22u}.{43u}",
    "Mailgun": "key-{32h}",
    "Mailchimp": "{32h}-us{2d}",
    "Brevo": "xkeysib-{64h}-{16b}",
    "Resend": "re_{8b}_{24b}",
    "Twilio": "SK{32h}",
    "Shopify": "shpat_{32h}",
    "Shopify, app": "shpss_{32h}",
    "Shopify, custom": "shpca_{32h}",
    "Square": "EAAA{60u}",
    "Square, secret": "sq0csp-{43u}",
    "EasyPost": "EZAK{54b}",
    "Shippo": "shippo_live_{40h}",
    "HubSpot": f"pat-na1-{_UUID}",
    "Dropbox": "sl.u.{130u}",
    "Facebook": "EAA{150b}",
    "Flutterwave": "FLWSECK-{32h}-X",
}
FORMS = {
    # RFC 6750, RFC 7519, RFC 7468, RFC 3986
    "Bearer": "Authorization: Bearer {40b}",
    "JWT": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{60u}.{43u}",
    "PEM": "-----BEGIN RSA PRIVATE KEY-----\nMIIE{60s}\n{64s}\n-----END RSA PRIVATE KEY-----",
    "OpenSSH": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA{50s}\n-----END OPENSSH PRIVATE KEY-----",
    "PGP": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOY{60s}\n-----END PGP PRIVATE KEY BLOCK-----",
    "a URL": "postgres://app:{20b}@db.internal:5432/app",
    "a .env file": "SERVICE_API_KEY={40h}",
    "AWS, secret": "aws_secret_access_key = {40s}",
}
SHAPES = {**LLM, **CODE, **CLOUD, **MONEY_AND_MAIL, **FORMS}

MASKED = (
    *("OpenAI, first", "OpenAI, project", "Anthropic", "OpenAI, service account", "OpenAI, admin", "Anthropic, admin", "Anthropic, OAuth"),
    *("OpenRouter", "DeepSeek", "Moonshot", "LiteLLM", "Google", "Google, of a service account", "Google, OAuth", "Google, client"),
    *("Groq", "xAI", "Hugging Face", "Perplexity", "Cerebras", "Fireworks", "Together", "Replicate", "NVIDIA", "Bedrock", "Langfuse"),
    *("Vercel AI Gateway", "GitHub", "GitHub, OAuth", "GitHub, user", "GitHub, app", "GitHub, refresh", "GitHub, fine", "GitLab"),
    *("GitLab, routable", "npm", "AWS", "AWS, session", "Stripe", "Slack, bot", "Slack, user", "Slack, refresh", "Slack, app", "JWT"),
    *("Slack, of a browser", "GitHub, app, with a JWT"),
)
"""Those that requests are likely to carry: what looks so is masked as it flows, wherever it stands."""


def token(shape: str, dice: random.Random) -> str:
    """One of it."""
    return _PART.sub(lambda part: "".join(dice.choices(_ALPHABETS[part[2]], k=int(part[1]))), shape)


def masked() -> list[str]:
    """One of each that is MASKED, the same each time."""
    dice = random.Random(0)
    return [token(SHAPES[name], dice) for name in MASKED]
