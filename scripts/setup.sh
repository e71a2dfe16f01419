# Sourced by the other scripts in this folder: sets $root, and `setup EXTRAS` creates or updates .venv in it.
#
# Rules: .venv is the only state, and a stamp file in it, written last, marks it as complete. After an interrupted set-up, the
# next run repeats it. The code must run on bash 3.2 (macOS). If .venv is complete, the cost is one `cksum`.
# TOOLMEND_PYTHON names the Python that creates a new .venv; to change it later, remove .venv.
#
# The current folder is not trusted: no file in it is run, imported or read. So scripts start with `#!/bin/bash -p` (no BASH_ENV,
# no functions from the environment), PATH contains absolute folders only, Python runs with -I, or with -P if it needs PYTHONPATH,
# and programs that read settings from the current folder (uv, pyenv, pip) run in / or in $root.

# Variables of another project, or with paths relative to the current folder. `toolmend run` restores them for its child process.
for name in BASH_ENV CDPATH ENV PYTHONHOME PYTHONPATH PYTHONPYCACHEPREFIX PYTHONSTARTUP PYTHONUSERBASE; do
    [ -z "${!name}" ] || export "_TOOLMEND_$name=${!name}"
    unset "$name"
done

absolute= # the absolute folders of PATH; an empty one is the current folder
rest=$PATH:
while [ -n "$rest" ]; do
    case $rest in /*) absolute=$absolute:${rest%%:*} ;; esac
    rest=${rest#*:}
done
if [ ":$PATH" != "$absolute" ]; then
    export "_TOOLMEND_PATH=$PATH"
    export PATH="${absolute#:}"
    [ -n "$PATH" ] || PATH=/usr/bin:/bin
fi

here=$PWD # the caller's relative paths refer to it
root=$(cd -P "${BASH_SOURCE[0]%/*}/.." && pwd) || exit 3
venv=$root/.venv

setup() {
    ready "$1" && return
    local python
    python=$(find_python) || exit 3 # in a subshell, as it leaves the current folder
    # The lock belongs to an open file: it ends with this subshell and its child processes, so it is never stale.
    (cd "$root" && lock && { ready "$1" || install "$1"; }) 9<"$root/pyproject.toml" || exit
}

ready() { # is .venv complete, and created from these files in this folder?
    local now extras
    [ -x "$venv/bin/python" ] && now=$(fingerprint) || return
    for extras in "$1" dev; do # dev includes all extras
        [ -f "$venv/.toolmend-$extras" ] && [ "$(<"$venv/.toolmend-$extras")" = "$now" ] && return
    done
    return 1
}

fingerprint() {
    cksum "$root/pyproject.toml" "$root/constraints.txt" "$venv/pyvenv.cfg" 2>/dev/null # sums and full paths
}

lock() { # macOS has no flock command, but Python's fcntl has the call
    "$python" -I - <<'PYTHON'
import fcntl, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("toolmend: another set-up is running in this folder, waiting for it …", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
except OSError:
    pass  # a file system without locks
PYTHON
}

install() {
    local why="first run"
    trap 'say "interrupted; the next run starts the set-up again"; exit 130' INT
    # These would install the packages elsewhere. The user's indexes, proxies and certificates stay.
    unset PIP_PREFIX PIP_ROOT PIP_TARGET
    export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1

    if [ ! -e "$venv/.unfinished" ] && suits "$venv/bin/python" >/dev/null; then
        say "bringing .venv up to date …"
    else
        [ -e "$venv" ] && why=".venv has no working Python 3.12 or newer"
        say "$why, setting up .venv with $("$python" -I --version) (about a minute) …"
        run rm -rf "$venv"
        run mkdir "$venv"
        : >"$venv/.unfinished"
        run "$python" -I -m venv "$venv"
        rm "$venv/.unfinished"
    fi
    "$venv/bin/python" -I -c 'import pip' 2>/dev/null || run "$venv/bin/python" -I -m ensurepip # uv creates venvs without pip
    run "$venv/bin/python" -I -m pip install --quiet --no-input --constraint constraints.txt --editable ".[$1]"
    # xds-protos contains older files with the same names, so opentelemetry-proto is installed last
    [ "$1" != dev ] || run "$venv/bin/python" -I -m pip install --quiet --no-input --force-reinstall --no-deps --constraint constraints.txt opentelemetry-proto
    fingerprint >"$venv/.toolmend-$1"
}

find_python() { # prints the full path of a suitable Python; changes to /, which has no settings of pyenv, mise or uv
    local name pyenv="${PYENV_ROOT:-$HOME/.pyenv}/versions"
    case $TOOLMEND_PYTHON in /*) ;; */*) TOOLMEND_PYTHON=$here/$TOOLMEND_PYTHON ;; esac
    cd / || return
    if [ -n "$TOOLMEND_PYTHON" ]; then
        suits "$TOOLMEND_PYTHON" ||
            fail "TOOLMEND_PYTHON=$TOOLMEND_PYTHON is not a Python 3.12 or newer that can create a venv" "give the path of one, or unset it"
        return
    fi
    # A pyenv shim of a version that is not selected exists but fails, so each candidate is run, not only searched for.
    for name in python3.14 python3.13 python3.12 python3 python; do
        suits "$name" && return
    done
    for name in $(cd "$pyenv" 2>/dev/null && printf '%s\n' 3.* | grep -x '[0-9.]*' | sort -t. -k2,2nr -k3,3nr); do
        suits "$pyenv/$name/bin/python" && return
    done
    suits "$(uv python find --system '>=3.12' 2>/dev/null)" && return
    suits "$venv/bin/python" && return # created by hand, with a Python that is not found elsewhere
    fail "found no Python 3.12 or newer that can create a venv: searched PATH, pyenv and uv" \
        "install one (brew install python@3.13, apt install python3.13-venv, pyenv install 3.13, uv python install 3.13) or set TOOLMEND_PYTHON=/path/to/python3.13"
}

suits() { # prints the base interpreter of the command (resolving shims and venvs), if it is new enough and can create a venv
    "$1" -I -c 'import ensurepip, sys, venv; print(sys._base_executable) if sys.version_info >= (3, 12) else sys.exit(1)' \
        2>/dev/null </dev/null
}

run() { # prints the output only after a failure
    local output code
    output=$("$@" 2>&1 </dev/null) && return
    code=$?
    printf '%s\n' "$output" >&2
    fail "setting up .venv failed (exit code $code); its output is above" "check the network and pip's settings, then run it again"
}

say() { # prints a message to stderr
    printf 'toolmend: %s\n' "$1" >&2
}

fail() { # message, suggestion
    printf 'error: %s\ntry: %s\n' "$1" "$2" >&2
    exit 3
}
