"""More known keys, in the form of key_patterns.KEYS: of other services, as an agent may read them in files and output.

A row is a prefix and the pattern of the rest, such that no ordinary word matches. A key of random letters of both cases and
digits needs no row: the scan detects its entropy.
"""

MORE_KEYS = (
    ("sk_test_", r"[A-Za-z0-9]{16,}"),  # Stripe, down to whsec_: docs.stripe.com/keys
    ("rk_live_", r"[A-Za-z0-9]{16,}"),
    ("rk_test_", r"[A-Za-z0-9]{16,}"),
    ("whsec_", r"[A-Za-z0-9+/]{20,}"),
    ("pypi-AgE", r"[A-Za-z0-9_-]{40,}"),  # PyPI: a macaroon
    ("glptt-", r"[0-9a-f]{40}"),  # GitLab, down to gloas-: docs.gitlab.com, "Token prefixes"
    ("gldt-", r"[A-Za-z0-9_-]{20,}"),
    ("glrt-", r"[A-Za-z0-9_-]{20,}"),
    ("glft-", r"[A-Za-z0-9_-]{20,}"),
    ("glcbt-", r"[0-9a-f]{1,5}_[A-Za-z0-9_-]{20,}"),
    ("glsoat-", r"[A-Za-z0-9_-]{20,}"),
    ("glagent-", r"[A-Za-z0-9_-]{50,}"),
    ("gloas-", r"[0-9a-f]{64}"),
    ("ABIA", r"[A-Z0-9]{16}"),  # AWS: docs.aws.amazon.com, "IAM identifiers"
    ("SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),  # SendGrid; so down to the end: their key pages
    ("dop_v1_", r"[0-9a-f]{64}"),  # DigitalOcean
    ("doo_v1_", r"[0-9a-f]{64}"),
    ("dor_v1_", r"[0-9a-f]{64}"),
    ("dckr_pat_", r"[A-Za-z0-9_-]{20,}"),  # Docker
    ("dckr_oat_", r"[A-Za-z0-9_-]{20,}"),
    ("shpat_", r"[0-9a-fA-F]{32}"),  # Shopify
    ("shpss_", r"[0-9a-fA-F]{32}"),
    ("shpca_", r"[0-9a-fA-F]{32}"),
    ("shppa_", r"[0-9a-fA-F]{32}"),
    ("lin_api_", r"[A-Za-z0-9]{32,}"),  # Linear
    ("lin_oauth_", r"[0-9a-f]{64}"),
    ("sntrys_", r"[A-Za-z0-9+/=_-]{40,}"),  # Sentry
    ("sntryu_", r"[0-9a-f]{64}"),
    ("hvs.", r"[A-Za-z0-9_-]{24,}"),  # Vault
    ("hvb.", r"[A-Za-z0-9_-]{24,}"),
    ("figd_", r"[A-Za-z0-9_-]{20,}"),  # Figma
    ("ntn_", r"[A-Za-z0-9]{40,}"),  # Notion
    ("PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),  # Postman
    ("NRAK-", r"[A-Z0-9]{27}"),  # New Relic
    ("sbp_", r"[0-9a-f]{40}"),  # Supabase
    ("sb_secret_", r"[A-Za-z0-9_-]{20,}"),
    ("ATATT3x", r"[A-Za-z0-9_=-]{40,}"),  # Atlassian
    ("rubygems_", r"[0-9a-f]{48}"),  # RubyGems
    ("CLOJARS_", r"[a-z0-9]{60}"),  # Clojars
    ("dapi", r"[0-9a-f]{32}"),  # Databricks
    ("tskey-", r"[a-z]+-[A-Za-z0-9-]{16,}"),  # Tailscale
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),  # age
    ("sk_", r"[0-9a-f]{48}"),  # ElevenLabs
    ("lsv2_", r"(pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),  # LangSmith
    ("tvly-", r"[A-Za-z0-9-]{20,}"),  # Tavily
    ("pcsk_", r"[A-Za-z0-9_]{40,}"),  # Pinecone
    ("jina_", r"[A-Za-z0-9_-]{40,}"),  # Jina
    ("e2b_", r"[0-9a-f]{40}"),  # E2B
    ("fc-", r"[0-9a-f]{32}"),  # Firecrawl
    ("bkua_", r"[0-9a-f]{40}"),  # Buildkite
    ("sgp_", r"([0-9a-f]{16}|local)_[0-9a-f]{40}"),  # Sourcegraph
    ("squ_", r"[0-9a-f]{40}"),  # SonarQube
    ("sqp_", r"[0-9a-f]{40}"),
    ("pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),  # Airtable
    ("pat-", r"[a-z]{2}[0-9]-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),  # HubSpot
    ("waka_", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),  # WakaTime
    ("xaat-", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),  # Axiom
    ("ops_eyJ", r"[A-Za-z0-9+/=_-]{100,}"),  # 1Password
    ("pul-", r"[0-9a-f]{40}"),  # Pulumi
    ("rnd_", r"[A-Za-z0-9]{28,}"),  # Render
    ("napi_", r"[a-z0-9]{40,}"),  # Neon
    ("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),  # Dynatrace
    ("key-", r"[0-9a-f]{32}"),  # Mailgun
    ("xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),  # Brevo
    ("re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),  # Resend
    ("SK", r"[0-9a-f]{32}"),  # Twilio
    ("shippo_live_", r"[0-9a-f]{40}"),  # Shippo
    ("FLWSECK-", r"[0-9a-z]{32}-X"),  # Flutterwave
)
