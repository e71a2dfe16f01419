r"""Credentials recognised by the syntax of a file or command, and those recognised by their own form.

    curl -u app:kQ7zRtVbXw2L        mysql -pkQ7z…            sshpass -p kQ7z… ssh …            psql --password=kQ7z…
    machine h login a password k…   h:5432:db:app:kQ7z…      psk="kQ7zRtVbXw2L"                postgres://app:kQ7z…@db/x
    https://hooks.slack.com/services/T…/B…/…                 https://0123…@o1.ingest.sentry.io/2

Data only. In PLACES the group `v` is the value, which the caller must check; a match of SHAPES is a credential. A row follows the
manual of its tool or the documentation of its issuer, and matches within one line.
"""

import re

_VALUE = r"(?P<q>[\"']?)(?P<v>[^\s\"'|;&<>\\]{4,200})(?P=q)"
_TO = r"[^\n|;]{0,300}?\s"
"""From the name of a program to one of its options."""

_SHORT_P = "mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump|mariadb-admin|7z|7za|rar|unrar"
_SPACED_P = (
    "docker|podman|nerdctl|skopeo|buildah|helm|az|oc|cf|mongo|mongosh|mongodump|mongorestore|mosquitto_pub|mosquitto_sub|zip|unzip|7z"
    "|sqlcmd|bcp|osql|redis-cli|ldapsearch|ldapadd|ldapmodify|ldappasswd|plink|pscp|putty|rabbitmqadmin|influx|twine|rclone|snowsql"
)
_HTTP = "curl|wget|https?|xh|aria2c|lftp|httpie"
_LONG = (
    "password|passwd|passphrase|passcode|pass|token|bearer|api-?key|secret|client-?secret|secret-?key|access-?token|auth-?token|pw|psk"
    "|http-password|ftp-password|proxy-password|requirepass"
)

_PLACES: tuple[tuple[str, str], ...] = (
    ("a password on a command line", rf"\b(?:{_HTTP})\b{_TO}(?:-u|-U|-a|--user|--proxy-user|--auth)[ =]?(?P<q>[\"']?)[^\s:\"']{{1,80}}:(?P<v>[^\s\"']{{4,200}})(?P=q)"),
    ("a password on a command line", rf"\b(?:{_SHORT_P})\b{_TO}-p{_VALUE}"),
    ("a password on a command line", rf"\bsshpass\s(?:-\S+\s+)?-p\s*{_VALUE}"),
    ("a password on a command line", rf"\b(?:{_SPACED_P})\b{_TO}(?:-p|-P|-a|-w|-pw|-AsPlainText)[ :]?\s*{_VALUE}"),
    ("a password on a command line", rf"(?<![\w-])--?(?:[a-z]+-)*(?:{_LONG})(?:\s+|=|\s=\s){_VALUE}"),
    ("a password on a command line", r"(?<!\S)(?:-U|--user(?:name)?)[ =]?(?P<q>[\"']?)[\w.\\@-]{1,60}%(?P<v>[^\s\"'|;<>]{4,200})(?P=q)"),
    ("a password on a command line", rf"\bhtpasswd\s+-\w*b\w*\s+(?:\S+\s+){{1,2}}{_VALUE}"),
    ("a password on a command line", r"\b(?:echo|printf)\s+(?:-n\s+)?(?P<q>[\"']?)(?:\w{1,30}:)?(?P<v>[^\s\"'|;<>$]{4,200})(?P=q)\s*\|\s*(?:sudo|docker|podman|helm|gh|kinit|su|passwd|chpasswd|op|vault)\b"),
    ("a password on a command line", r"<<<\s*(?P<q>[\"']?)(?P<v>[^\s\"'|;<>$]{8,200})(?P=q)\s*$"),
    ("a password on a command line", r"\bpass:(?P<q>)(?P<v>[^\s\"'|;<>\\]{4,200})"),
    ("a password on a command line", rf"\bnet\s+use\s+\S+\s+(?:\S+\s+)?{_VALUE}\s+/user:"),
    ("a password on a command line", r"ConvertTo-SecureString\s+(?:-String\s+)?(?P<q>[\"'])(?P<v>[^\n\"']{4,200})(?P=q)"),
    ("a password on a command line", r"/(?:p|pass|password|v):(?P<q>[\"']?)(?P<v>[^\s\"'|;<>/\\]{4,200})(?P=q)(?=\s|$)"),
    ("a password in a statement", r"(?i)\b(?:identified\s+(?:with\s+\S+\s+)?by|(?:encrypted\s+)?password|set\s+password(?:\s+for\s+\S+)?\s*=)\s*(?P<q>[\"'])(?P<v>[^\n\"']{4,200})(?P=q)"),
    ("a password in a file of passwords", rf"(?im)^\s*(?:requirepass|masterauth|bindpw|rootpw|sasl_passwd|password|passwd|set\s+password|authtoken)[ \t]+{_VALUE}[ \t]*$"),
    ("a password in a file of passwords", r"\b(?:machine\s+\S+|default)\s+(?:login|user)\s+\S+\s+(?:account\s+\S+\s+)?password\s+(?P<q>)(?P<v>[^\s\\]{4,200})"),
    ("a password in a file of passwords", r"(?m)(?<![\w./-])(?:[\w.*-]{1,100}|\[[0-9a-fA-F:]+\]):(?:\d{2,5}|\*):[\w*.-]{1,63}:[\w*.@-]{1,63}:(?P<q>)(?P<v>[^\s:\"'\\]{4,200})(?=$|\s|\\n|[\"'`])"),
    ("a password in a file of passwords", r"(?i)\b(?:psk|wpa-?_?passphrase|wep_?key\d?|sae_password|wpa-psk|pre-?shared-?key|presharedkey|key-?mgmt-?psk)\s*[=:]\s*(?P<q>[\"']?)(?P<v>[^\n\"'\\]{8,64})(?P=q)"),
    ("a password in a file of passwords", r"(?m)^(?P<q>)[\w.-]{1,32}:(?P<v>\$(?:1|2[aby]|5|6|y|argon2id?|apr1)\$[^\s:]{20,200})"),
    ("a password in a header", r"(?i)\bauthorization\\?[\"']?\s*[:=,]\s*\\?[\"']?basic\s+(?P<q>)(?P<v>[A-Za-z0-9+/]{8,2000}={0,2})"),
    ("the password in a URL", r"://[^\s/:@\"']{0,100}:(?P<q>)(?P<v>[^\s/@\"'<>\\]{4,300})@(?=[\w.\[-])"),
    ("the password in a URL", r"://[^\s/:@\"'<>]{0,100}:(?P<q>)(?P<v>[^\s@\"'<>\\?#]{4,300})@(?=[\w-]+[.:/])"),
    ("the password in a URL", r"\bjdbc:oracle:thin:[\w.-]{1,60}/(?P<q>)(?P<v>[^\s@\"'/\\]{4,200})@"),
    ("the password in a URL", r"\bsqlplus\s+(?:-\w+\s+)*[\w.-]{1,60}/(?P<q>[\"']?)(?P<v>[^\s@\"'/\\]{4,200})(?P=q)(?:@|\s|$)"),
)  # fmt: skip
PLACES = tuple((kind, re.compile(pattern)) for kind, pattern in _PLACES)
"""The kind of credential, and a pattern of its place."""

_SHAPES: tuple[tuple[str, str], ...] = (
    ("a webhook of Slack", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Z0-9]{7,14}/[A-Za-z0-9]{7,20}(?:/[A-Za-z0-9]{16,40}){1,2}"),
    ("a webhook of Discord", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,22}/[A-Za-z0-9_-]{50,80}"),
    ("a webhook of Teams", r"webhook\.office\.com/webhookb2/[0-9a-f@-]{36,80}/IncomingWebhook/[0-9A-Za-z]{20,40}/[0-9a-f-]{36}"),
    ("a URL of Azure that is signed", r"[?&]sig=[A-Za-z0-9%/+_-]{30,}={0,2}"),
    ("a webhook of Google Chat", r"chat\.googleapis\.com/v1/spaces/[\w-]+/messages\?[^\s\"']{0,300}?token=[\w%-]{20,}"),
    ("a webhook", r"hooks\.zapier\.com/hooks/catch/\d+/[a-z0-9]{6,}"),
    ("a webhook", r"maker\.ifttt\.com/trigger/\w+/(?:json/)?with/key/[\w-]{20,}"),
    ("a webhook", r"(?:hook\.[\w.]+\.make\.com|events\.pagerduty\.com/integration)/[a-z0-9]{20,}"),
    ("a webhook", r"(?:webhook\.site|api\.telegram\.org)/(?:bot\d+:[\w-]{30,}|[0-9a-f-]{36})"),
    ("a webhook", r"(?:open\.feishu\.cn|open\.larksuite\.com)/open-apis/bot/v2/hook/[0-9a-f-]{36}"),
    ("a webhook", r"(?:oapi\.dingtalk\.com/robot/send\?access_token|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key)=[0-9a-f-]{36,64}"),
    ("a webhook", r"/hooks/[a-z0-9]{26}\b|outlook\.office\.com/webhook/[0-9a-f-]{36}@[0-9a-f-]{36}/"),
    ("a DSN of Sentry", r"https?://[0-9a-f]{32}(?::[0-9a-f]{32})?@[\w.-]+/\d+"),
    ("a token of a bot of Telegram", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])"),
    ("a token of a bot of Discord", r"(?<![\w-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])"),
    ("a key of Mailchimp", r"(?<![0-9a-f])[0-9a-f]{32}-us\d{1,2}(?!\d)"),
    ("a key of Square", r"sq0(?:csp|atp|idp)-[A-Za-z0-9_-]{22,43}"),
    ("a key of 1Password", r"(?<![A-Z0-9])A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?![A-Z0-9])"),
    ("a private key of a wallet", r"(?<![A-Za-z0-9])[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}(?![A-Za-z0-9])"),
    ("a private key of a wallet", r"(?<![A-Za-z0-9])nsec1[02-9ac-hj-np-z]{58}(?![a-z0-9])"),
    ("a private key of a wallet", r"(?<![A-Za-z0-9+/=_-])(?:5[HJK]|[KL])[1-9A-HJ-NP-Za-km-z]{49,50}(?![A-Za-z0-9+/=_-])"),
    ("a private key", r"PuTTY-User-Key-File-\d: [\s\S]{0,4000}?Private-Lines: \d+"),
    ("a private key", r"-----BEGIN PGP PRIVATE KEY BLOCK-----"),
    ("a private key", r"\"(?:kty|crv)\\?\"[^{}]{0,2000}\\?\"d\\?\"\s*:\s*\\?\"[A-Za-z0-9_-]{40,}"),
)  # fmt: skip
SHAPES = tuple((kind, re.compile(pattern)) for kind, pattern in _SHAPES)
"""The kind of credential, and its pattern. Those with a literal prefix are in key_patterns.py."""
