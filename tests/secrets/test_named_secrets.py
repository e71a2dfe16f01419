"""What the secret scan finds of credentials that have no prefix: by their names, their places and their forms (R17).

Rule of this file: values are drawn; the shapes are written from the manuals of tools, and not from the tables of the scan.
"""

import base64
import hashlib
import json
import random
import string
import sysconfig
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.streams import WEATHER, stream
from tests.support.unredacted_recording import made
from toolmend.cli.launcher.bug_report import find_secrets
from toolmend.recordings.fixtures.promotion import prepare
from toolmend.recordings.read.secret_scan import scan
from toolmend.secrets.named_secrets import named
from toolmend.secrets.names import secret_types

ALNUM = string.ascii_letters + string.digits
BASE58 = "".join(char for char in ALNUM if char not in "0OIl")
SEEDS = ["abandon", "ability", "absent", "absorb", "abuse", "access", "acid", "acoustic", "actress", "adapt", "afraid", "agent", "alley", "almost", "amateur", "anchor", "ankle", "apology", "arctic", "armor", "artefact", "aspect", "atom", "auction", "bamboo", "banana", "barrel", "bicycle", "blanket", "blossom", "bronze", "bundle", "cabin", "cactus", "camera", "canyon", "carbon", "castle", "cereal", "chalk", "cherry", "citizen", "clarify", "clutch", "coconut", "cradle", "cricket", "crystal", "decade", "denial", "desert", "dinosaur", "dolphin", "donkey", "dragon"]


def alnum(dice: random.Random, size: int) -> str:
    return "".join(dice.choices(ALNUM, k=size))


def hexes(dice: random.Random, size: int) -> str:
    return dice.randbytes(size).hex()[:size]


def b64(dice: random.Random, size: int) -> str:
    return base64.b64encode(dice.randbytes(size)).decode()[:size]


def marked(dice: random.Random, size: int) -> str:
    """With marks, as generators of passwords have them."""
    return "".join(dice.choices(ALNUM, k=size - 3)) + dice.choice("!@^*~+") + dice.choice(string.digits) + dice.choice("!^*~+")


VALUES: dict[str, Callable[[random.Random], str]] = {
    **{f"alphanumeric, {size}": lambda dice, size=size: alnum(dice, size) for size in (12, 13, 14, 16, 20, 24, 32, 64)},
    "hex, 32": lambda dice: hexes(dice, 32),
    "hex, 64": lambda dice: hexes(dice, 64),
    "base64, 44": lambda dice: b64(dice, 43) + "=",
    "base64, 399": lambda dice: b64(dice, 399),
    "base64, 5000": lambda dice: b64(dice, 5000),
    "a UUID": lambda dice: str(uuid.UUID(int=dice.getrandbits(128), version=4)),
    "lower case and digits, 16": lambda dice: "".join(dice.choices(string.ascii_lowercase + string.digits, k=16)),
    "capitals and digits, 16": lambda dice: "".join(dice.choices(string.ascii_uppercase + string.digits, k=16)),
}
ASSIGNED: dict[str, str] = {
    # a line that gives a name its value
    ".env": "DB_PASSWORD={}",
    ".env, quoted": 'DB_PASSWORD="{}"',
    ".env, a comment": "POSTGRES_PASSWORD={}  # of the staging host",
    ".env, more lines": "DEBUG=1\nAWS_SESSION_TOKEN={}\nPORT=80",
    ".env, a suffix": "API_TOKEN_PROD={}",
    "Rails": "SECRET_KEY_BASE={}",
    "export": "export GITHUB_TOKEN={}",
    "export, quoted": "export AWS_SECRET_ACCESS_KEY='{}'",
    "a prompt": "$ export VAULT_TOKEN={}",
    "in front of a command": "PGPASSWORD={} psql -h db -U app",
    "fish": "set -gx API_TOKEN {}",
    "csh": "setenv API_TOKEN {}",
    "cmd.exe": "set DB_PASSWORD={}",
    "setx": "setx API_SECRET {}",
    "PowerShell": '$env:API_TOKEN = "{}"',
    "PowerShell, a variable": "$Password = '{}'",
    "Docker, ENV": "ENV DB_PASSWORD={}",
    "Docker, ENV with a space": "ENV DB_PASSWORD {}",
    "Docker, -e": "docker run -e MYSQL_ROOT_PASSWORD={} mysql:8",
    "YAML": "database:\n  user: app\n  password: {}\n  port: 5432",
    "YAML, quoted": "password: '{}'",
    "YAML, in a list": "environment:\n  - POSTGRES_PASSWORD={}",
    "YAML, Kubernetes": "- name: DB_PASSWORD\n  value: {}\n- name: PORT",
    "YAML, Kubernetes, quoted": '- name: API_TOKEN\n  value: "{}"',
    "YAML, a secret": "stringData:\n  client-secret: {}",
    "TOML": '[db]\npassword = "{}"',
    "TOML, a literal": "api_secret = '{}'",
    "JSON": '{{"user": "app", "password": "{}"}}',
    "JSON, camel case": '{{"clientSecret":"{}"}}',
    "JSON, of containers": '{{"name": "DB_PASSWORD", "value": "{}"}}',
    "INI": "[client]\nuser = app\npassword = {}",
    "INI, a semicolon": "aws_secret_access_key = {} ; of the pipeline",
    "properties": "spring.datasource.password={}",
    "properties, a colon": "db.password: {}",
    ".npmrc": "//registry.example.org/:_authToken={}",
    ".pypirc": "[pypi]\nusername = __token__\npassword = {}",
    "Terraform": 'master_password = "{}"',
    "HCL, aligned": 'db_password      = "{}"',
    "XML": "<user>app</user><password>{}</password>",
    "XML, attributes": '<add key="DbPassword" value="{}" />',
    "XML, an entry": '<entry key="db.password">{}</entry>',
    "plist": "<key>ApiToken</key>\n\t<string>{}</string>",
    "Python": 'PASSWORD = "{}"',
    "Python, typed": 'password: str = "{}"',
    "Python, an argument": 'connect(host="db", password="{}")',
    "Python, a dictionary": "config['api_secret'] = '{}'",
    "JavaScript": 'const apiToken = "{}";',
    "TypeScript": "private readonly clientSecret: string = '{}';",
    "Go": 'password := "{}"',
    "Java": 'String dbPassword = "{}";',
    "C#": 'var token = @"{}";',
    "Ruby": ":password => '{}',",
    "PHP, define": "define('DB_PASSWORD', '{}');",
    "PHP, an array": "'secret' => '{}',",
    "Rust": 'let api_secret: &str = "{}";',
    "Kotlin": 'val password: String = "{}"',
    "a URL's query": "https://api.example.org/v1/x?user=a&access_token={}",
    "JDBC": "jdbc:postgresql://db:5432/app?user=app&password={}&ssl=true",
    "JDBC, SQL Server": "jdbc:sqlserver://db:1433;user=app;password={};encrypt=true",
    "ODBC": "Driver={{ODBC Driver 18}};Server=db;Uid=app;Pwd={};",
    "ADO": "Server=db;Database=app;User Id=app;Password={};",
    "libpq": "host=db dbname=app user=app password={} sslmode=require",
    "a sentence": "The password is {}, keep it.",
    "a sentence, a colon": "Here you go. Password: {}",
    "a sentence, quoted": "use the token `{}` for it",
    "a header": "X-Api-Token: {}",
    "a cookie": "Cookie: session_token={}",
    "curl, a header": "curl -H 'X-Auth-Token: {}' https://api.example.org",
}
FORMS: dict[str, str] = {
    # a command, or a line of a file whose form tells it
    "curl -u": "curl -u app:{} https://api.example.org/v1/x",
    "curl -u, quoted": "curl -sS -u 'app:{}' https://api.example.org",
    "curl --user": "curl --user app:{} https://api.example.org",
    "curl -u, behind the URL": "curl https://api.example.org -u app:{}",
    "wget": "wget --http-user=app --http-password={} https://api.example.org/f",
    "http -a": "http -a app:{} api.example.org/x",
    "netrc": "machine api.example.org login app password {}",
    "netrc, lines": "machine api.example.org\n  login app\n  password {}",
    "pgpass": "db.example.org:5432:app:app:{}",
    "pgpass, stars": "*:*:*:postgres:{}",
    "mysql -p": "mysql -h db -u root -p{} app",
    "mysqldump -p": "mysqldump -uroot -p'{}' app > dump.sql",
    "mysql --password": "mysql -u root --password={} app",
    "sshpass": "sshpass -p {} ssh app@db",
    "sshpass, quoted": "sshpass -p '{}' scp f app@db:",
    "docker login": "docker login -u app -p {} ghcr.io",
    "helm": "helm registry login r.example.org --username app --password {}",
    "redis-cli": "redis-cli -h cache -a {} ping",
    "mongo": "mongosh --host db -u app -p {}",
    "az login": "az login --service-principal -u app -p {} --tenant t",
    "echo to a program": "echo {} | docker login -u app --password-stdin",
    "chpasswd": "echo 'root:{}' | chpasswd",
    "openssl": "openssl enc -aes-256-cbc -pass pass:{} -in f",
    "7z": "7z x a.7z -p{}",
    "an option": "./deploy --api-token {} --region eu",
    "an option with =": "./deploy --client-secret={}",
    "net use": "net use Z: \\\\srv\\x {} /user:app",
    "PowerShell, secure": "ConvertTo-SecureString '{}' -AsPlainText -Force",
    "SQL": "CREATE USER app WITH PASSWORD '{}';",
    "SQL, MySQL": "ALTER USER 'app'@'%' IDENTIFIED BY '{}';",
    "redis.conf": "requirepass {}",
    "psk": 'network={{\n  ssid="home"\n  psk="{}"\n}}',
    "psk, plain": "psk={}",
    "hostapd": "wpa_passphrase={}",
    "a URL": "postgres://app:{}@db.example.org:5432/app",
    "a URL, Redis": "REDIS_URL=redis://:{}@cache:6379/0",
    "a URL, Mongo": "mongodb+srv://app:{}@cluster0.ab1cd.mongodb.net/app",
    "a URL, git": "git clone https://app:{}@git.example.org/a/b.git",
    "a URL, AMQP": "amqp://app:{}@mq/vhost",
    "LDAP": "ldapsearch -x -D cn=admin -w {} -b dc=example",
}
SHAPES: dict[str, Callable[[random.Random], str]] = {
    # what is a secret by its form alone
    "Slack": lambda dice: f"https://hooks.slack.com/services/T{alnum(dice, 10).upper()}/B{alnum(dice, 10).upper()}/{alnum(dice, 24)}",
    "Slack, a workflow": lambda dice: f"https://hooks.slack.com/workflows/T{alnum(dice, 8).upper()}/A{alnum(dice, 9).upper()}/{dice.randrange(10**17, 10**18)}/{alnum(dice, 24)}",
    "Discord": lambda dice: f"https://discord.com/api/webhooks/{dice.randrange(10**17, 10**18)}/{alnum(dice, 68)}",
    "Teams": lambda dice: f"https://org.webhook.office.com/webhookb2/{uuid_of(dice)}@{uuid_of(dice)}/IncomingWebhook/{hexes(dice, 32)}/{uuid_of(dice)}",
    "Google Chat": lambda dice: f"https://chat.googleapis.com/v1/spaces/{alnum(dice, 11)}/messages?key=AIza{alnum(dice, 35)}&token={alnum(dice, 43)}",
    "Power Automate": lambda dice: f"https://prod-1.westeurope.logic.azure.com/workflows/{hexes(dice, 32)}/triggers/manual/paths/invoke?sp=%2Ftriggers&sv=1.0&sig={alnum(dice, 43)}",
    "Azure, SAS": lambda dice: f"https://a.blob.core.windows.net/c/f?sv=2024-11-04&se=2026-01-01T00%3A00%3A00Z&sr=b&sp=r&sig={alnum(dice, 42)}%3D",
    "Zapier": lambda dice: f"https://hooks.zapier.com/hooks/catch/{dice.randrange(10**6, 10**7)}/{alnum(dice, 7).lower()}/",
    "Sentry": lambda dice: f"https://{hexes(dice, 32)}@o{dice.randrange(10**5)}.ingest.sentry.io/{dice.randrange(10**6)}",
    "Sentry, of one's own": lambda dice: f"SENTRY_DSN=https://{hexes(dice, 32)}@sentry.corp.example/42",
    "Telegram": lambda dice: f"{dice.randrange(10**9, 10**10)}:AA{alnum(dice, 33)}",
    "Mailchimp": lambda dice: f"{hexes(dice, 32)}-us{dice.randrange(1, 20)}",
    "a seed phrase": lambda dice: f"seed phrase: {' '.join(dice.sample(SEEDS, 12))}",
    "a seed phrase of 24": lambda dice: f"My recovery phrase is:\n\n{' '.join(dice.sample(SEEDS, 24))}\n",
    "a seed phrase in .env": lambda dice: f'MNEMONIC="{" ".join(dice.sample(SEEDS, 12))}"',
    "a seed phrase, numbered": lambda dice: "Wallet backup\n" + "\n".join(f"{at}. {word}" for at, word in enumerate(dice.sample(SEEDS, 12), 1)),
    "a seed phrase, commas": lambda dice: f"bip39 words: {', '.join(dice.sample(SEEDS, 12))}",
    "a private key": lambda dice: f"-----BEGIN RSA PRIVATE KEY-----\n{b64(dice, 64)}\n{b64(dice, 64)}\n-----END RSA PRIVATE KEY-----",
    "a private key, OpenSSH": lambda dice: f"-----BEGIN OPENSSH PRIVATE KEY-----\n{b64(dice, 70)}\n-----END OPENSSH PRIVATE KEY-----",
    "a private key, PGP": lambda dice: f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{b64(dice, 64)}\n-----END PGP PRIVATE KEY BLOCK-----",
    "a private key in JSON": lambda dice: json.dumps({"type": "service_account", "private_key": f"-----BEGIN PRIVATE KEY-----\n{b64(dice, 64)}\n-----END PRIVATE KEY-----\n"}),
    "a private key, JWK": lambda dice: json.dumps({"kty": "EC", "crv": "P-256", "x": alnum(dice, 43), "d": alnum(dice, 43)}),
    "a wallet's key": lambda dice: "xprv" + "".join(dice.choices(BASE58, k=107)),
    "WireGuard": lambda dice: f"[Interface]\nPrivateKey = {b64(dice, 43)}=",
    "a JWT": lambda dice: f"eyJhbGciOiJIUzI1NiJ9.eyJ{alnum(dice, 60)}.{alnum(dice, 43)}",
    "basic": lambda dice: f"Authorization: Basic {base64.b64encode(f'app:{alnum(dice, 14)}'.encode()).decode()}",
    "bearer": lambda dice: f"Authorization: Bearer {alnum(dice, 40)}",
    "docker's config": lambda dice: json.dumps({"auths": {"ghcr.io": {"auth": base64.b64encode(f"app:{alnum(dice, 20)}".encode()).decode()}}}),
    "shadow": lambda dice: f"app:$6${alnum(dice, 16)}${alnum(dice, 86)}:19700:0:99999:7:::",
    "a connection string": lambda dice: f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={b64(dice, 86)}==;EndpointSuffix=core.windows.net",
}


def uuid_of(dice: random.Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))


PLACES: dict[str, Callable[[str], dict[str, bytes]]] = {
    "deltas": lambda text: {"upstream.sse": stream([text[at : at + 7] for at in range(0, len(text), 7)])},
    "a tool's result": lambda text: {"request.json": json.dumps({"messages": [{"role": "tool", "content": f"$ cat f\n{text}\n"}]}).encode()},
    "JSON in JSON": lambda text: {"request.json": json.dumps({"input": json.dumps({"stdout": f"{text}\n", "code": 0})}).encode()},
}


def missed(place: str, texts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Those in which nothing is found."""
    found = {name: [text for text in given if not scan(PLACES[place](text), {})] for name, given in texts.items()}
    return {name: given for name, given in found.items() if given}


def check(place: str, texts: dict[str, list[str]], recall: float) -> None:
    lost = missed(place, texts)
    total, worst = sum(map(len, texts.values())), max(map(len, lost.values()), default=0)
    assert sum(map(len, lost.values())) <= (1 - recall) * total, lost
    assert worst <= max(1, min(map(len, texts.values())) // 5), lost  # no shape is missed altogether


def assigned(dice: random.Random, kinds: int, draws: int) -> dict[str, list[str]]:
    names = [*VALUES]
    return {name: [shape.format(VALUES[kind](dice)) for kind in dice.sample(names, kinds) for _ in range(draws)] for name, shape in ASSIGNED.items()}


@pytest.mark.parametrize("place", PLACES)
def test_named_credentials_are_found(place: str) -> None:
    """99 in 100, whatever their length."""
    check(place, assigned(random.Random(place), 4, 1), 0.99)


@pytest.mark.parametrize("place", PLACES)
def test_forms_and_shapes_are_found(place: str) -> None:
    dice = random.Random(place)
    lengths = (12, 14, 16, 24)
    check(place, {name: [form.format(alnum(dice, size)) for size in lengths] for name, form in FORMS.items()}, 0.98)
    check(place, {name: [make(dice) for _ in range(3)] for name, make in SHAPES.items()}, 0.98)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_recall_is_measured(place: str) -> None:
    dice = random.Random(f"{place} again")
    check(place, assigned(dice, len(VALUES), 4), 0.99)
    for sizes in ((12,), (13, 15), (16, 20)):
        check(place, {name: [form.format(alnum(dice, dice.choice(sizes))) for _ in range(20)] for name, form in FORMS.items()}, 0.98)
    check(place, {name: [form.format(marked(dice, 14)) for _ in range(20)] for name, form in FORMS.items()}, 0.98)
    check(place, {name: [make(dice) for _ in range(20)] for name, make in SHAPES.items()}, 0.98)


@pytest.mark.parametrize("size", [60, 199, 201, 399, 1000, 5000, 15_000])
def test_a_named_credential_of_any_length_is_found(size: int) -> None:
    dice = random.Random(size)
    for text in (f"AWS_SESSION_TOKEN={b64(dice, size)}\n", f'{{"sessionToken": "{alnum(dice, size)}"}}', f"export A_SECRET='{hexes(dice, size)}'"):
        assert scan({"client.sse": stream([text])}, {})
    assert scan({"request.json": json.dumps({"aws_session_token": b64(dice, size)}).encode()}, {})


def test_promote_and_bug_report_refuse(tmp_path: Path) -> None:
    """What an agent read is in the request, and what the model repeats is in the stream."""
    for at, text in enumerate(("AWS_SESSION_TOKEN=" + b64(random.Random(1), 399), "password: kQ7zRtVbXw2L", "curl -u app:kQ7zRtVbXw2L https://a.example")):
        told = made(tmp_path / f"told{at}", [text[at : at + 9] for at in range(0, len(text), 9)])
        read = made(tmp_path / f"read{at}", ["Hello."], {**WEATHER, "messages": [{"role": "user", "content": text}]})
        for folder in (told, read):
            assert prepare(folder, {}).findings
            assert find_secrets({path.name: path.read_bytes() for path in folder.iterdir()}, {})


def test_what_redaction_masks_by_name_is_found(subtests: pytest.Subtests) -> None:
    """What a recording would mask in a request, the scan refuses in one that is not masked."""
    for name in ("password", "clientSecret", "api_key", "x-api-key", "GITHUB_TOKEN", "passphrase", "jwt", "db_passwd", "session_token", "credentials"):
        with subtests.test(name):
            for member in ({name: "kQ7zRtVbXw2L"}, {"name": name, "value": "kQ7zRtVbXw2L"}):
                assert scan({"request.json": json.dumps({"a": [member]}).encode()}, {})
                assert secret_types(*list(member)[-1:], member)


NONE = (
    # what is named so and holds none
    'password = "your-password-here"', "DB_PASSWORD=${DB_PASSWORD}", "DB_PASSWORD=$(cat /run/secrets/db_password)", "password: {{ .Values.db.password }}",
    'password = os.environ["DB_PASSWORD2"]', "const token = process.env.API_TOKEN2", "token = secrets.token_hex(32)", "password: !Ref DbPassword2",
    'api_key = config.get("openai_key_2")', "password=changeme123", "PASSWORD=<your password>", "API_KEY=sk-xxxxxxxxxxxxxxxx", "password: ********",
    "password: string;", "token: Optional[str] = None", "def login(user: str, password: str = '') -> Token2:", "passwordField2.setText(password2)",
    "secret_name = my-app-secret-v2", "--password-stdin", "docker login -u app -p $DOCKER_PASSWORD", "curl -u $USER:$PASS https://x.example",
    "curl -u user:password https://x.example", "postgres://user:password@localhost/db", "postgres://${U}:${P}@db/app", "max_tokens=128000", "tokens: 12345678",
    "token_count: 4096", "pad_token_id=50256", "eos_token: '<|im_end|>'", "the password is stored in the file config2.yml", "The token was not found in line 12.",
    "password is required; secret is optional", "next_token = tokens[index2]", "SECRET=op://vault/item2/password", "password: vault:secret/data/db2#password",
    "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db-a1b2c3", "password: ENC[AES256_GCM,data:a1b2]", "token: ${{ secrets.GITHUB_TOKEN }}",
    "if (password !== confirmPassword2) {", "keyboard: qwerty105", "key: value1, monkey: banana2", "primary_key = user_id_2", "the keys are a1, b2 and c3",
    "<input type='password' name='password2' id='pw2'>", 'label_password: "Passwort2"', "mysql -u root -p app", "psk=your_passphrase", "@pytest.mark.auth2",
    "All tests pass: 12 passed in 3.4s", "auth: bearer", "Authorization: Bearer $TOKEN2", "Authorization: Basic <credentials>", "cookie: accepted2", "a recipe: the seed is sown",
    "password_hash = bcrypt.hashpw(password2, salt)", "token = await getAccessTokenSilently2()", "self.password = password2", "API_TOKEN=%API_TOKEN%", "password := viper.GetString(k)",
    "git clone https://github.com/org/repo.git", "see http://localhost:8080/@fs/a", "npm install @types/node@20", "10:30:00:12:ab", "::1:5432:a:b:c", "user:group:755",
    "import { useToken2 } from '@/auth/token2'", "password=%(password)s", "password='%s'", "Password: ", "token=***", 'secret: "[REDACTED]"', "passphrase: [REDACTED]",
)  # fmt: skip


def test_what_is_no_credential(subtests: pytest.Subtests) -> None:
    for text in NONE:
        with subtests.test(text):
            assert [text[first:last] for first, last, _ in named(f"x\n{text}\ny")] == []


LINES: dict[str, Callable[[random.Random], str]] = {
    "commits": lambda dice: f"commit {hexes(dice, 40)}",
    "checksums": lambda dice: f"{hashlib.sha256(dice.randbytes(4)).hexdigest()}  dist/tool-{dice.randrange(99)}.tar.gz",
    "a uuid": lambda dice: f'{{"id": "{uuid_of(dice)}", "trace": "{uuid_of(dice)}", "token_count": {dice.randrange(9999)}}}',
    "package-lock": lambda dice: f'"integrity": "sha512-{base64.b64encode(dice.randbytes(64)).decode()}",',
    "Cargo.lock": lambda dice: f'checksum = "{hexes(dice, 64)}"',
    "an image": lambda dice: f"data:image/png;base64,{base64.b64encode(dice.randbytes(200)).decode()}",
    "a log": lambda dice: f"2026-01-0{dice.randrange(1, 9)} INFO auth: user{dice.randrange(999)} logged in with token id {dice.randrange(99)} from 10.0.0.{dice.randrange(255)}:5{dice.randrange(1000, 9999)}",
    "a reference": lambda dice: dice.choice(NONE),
    "a test": lambda dice: f"test_password_{dice.randrange(99)} ... ok, {dice.randrange(99)} passed, keys: {dice.randrange(999)}",
}


def alarms(paths: list[Path], most: int, draws: int) -> tuple[int, list[str]]:
    """Lines of sources, prose and data; and what is found in them."""
    dice, lines, found = random.Random(2), 0, list[str]()
    for path in paths:
        text = path.read_text(errors="replace")[:most] + "\n" + "".join(LINES[dice.choice([*LINES])](dice) + "\n" for _ in range(draws))
        lines += text.count("\n")
        found += [f"{path.name}: {text[max(0, first - 40) : first]}>>{text[first:last]}" for first, last, _ in named(text)]
    return lines, found


def test_few_false_alarms() -> None:
    """One in 10,000 lines."""
    lines, found = alarms(sorted(Path(sysconfig.get_path("stdlib")).glob("[a-h]*.py"))[:40], 30_000, 200)
    assert lines > 20_000
    assert len(found) <= lines // 10_000, found


@pytest.mark.slow
def test_few_false_alarms_in_packages() -> None:
    """Sources and documents of whatever is installed, of mitmproxy too, which is about passwords and tokens."""
    folders = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    paths = [path for folder in folders for kind in ("py", "md", "rst", "js", "json", "css") for path in sorted(folder.rglob(f"*.{kind}"))]
    lines, found = alarms(random.Random(3).sample(paths, 600), 60_000, 20)
    assert lines > 100_000
    assert len(found) <= lines // 10_000, found


@pytest.mark.slow
def test_costly_texts_take_time_in_proportion() -> None:
    for part in ("password", "password=", "a.b.", "mysql ", "--a-", "token: '", "seed phrase ", "abandon ", "a1a1:", "://a:", "\\", 'kty"'):
        text, begun = part * (200_000 // len(part)), time.process_time()
        list(named(text))
        assert time.process_time() - begun < 5, part
