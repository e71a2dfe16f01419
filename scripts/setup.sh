# Sourced by the scripts beside it: sets $root, and `setup EXTRAS` sees to a working .venv in it.
#
# Rules: .venv is all the state there is, and a stamp in it, written last, says that it is done. Whatever interrupts a
# set-up, the next run does it again. Bash 3.2 must do (macOS has it). When all is done it costs one `cksum`.
# TOOLMEND_PYTHON names the Python that a new .venv is made with; to change it later, remove .venv.
#
# The current folder may be anybody's: no file in it is run, imported or read. So scripts start with `#!/bin/bash -p` (no BASH_ENV,
# no functions of the environment), PATH has absolute folders only, Python runs with -I, or with -P where it needs PYTHONPATH, and
# what has settings in the current folder (uv, pyenv, pip) runs in / or in $root.

# Another project's, or names relative to the current folder. What `toolmend run` starts gets them back.
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

here=$PWD # what a caller names is relative to it
root=$(cd -P "${BASH_SOURCE[0]%/*}/.." && pwd) || exit 3
venv=$root/.venv

setup() {
    ready "$1" && return
    local python
    python=$(find_python) || exit 3 # in a subshell, as it leaves the current folder
    # The lock is on an open file: this subshell and what it starts hold it, and it ends with them. It is never stale.
    (cd "$root" && lock && { ready "$1" || install "$1"; }) 9<"$root/pyproject.toml" || exit
}

ready() { # is .venv done, and made from these very files in this very place?
    local now extras
    [ -x "$venv/bin/python" ] && now=$(fingerprint) || return
    for extras in "$1" dev; do # dev has them all
        [ -f "$venv/.toolmend-$extras" ] && [ "$(<"$venv/.toolmend-$extras")" = "$now" ] && return
    done
    return 1
}

fingerprint() {
    cksum "$root/pyproject.toml" "$root/constraints.txt" "$venv/pyvenv.cfg" 2>/dev/null # sums and full paths
}

lock() { # macOS has no flock command, but every Python has the call
    "$python" -I - <<'PYTHON'
import fcntl, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("toolmend: another set-up is running here, waiting for it …", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
except OSError:
    pass  # a file system without locks
PYTHON
}

install() {
    local why="first run"
    trap 'say "interrupted; the next run starts the set-up again"; exit 130' INT
    # What would send the packages elsewhere. Indexes, proxies and certificates are the user's and stay.
    unset PIP_PREFIX PIP_ROOT PIP_TARGET
    export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1

    if [ ! -e "$venv/.unfinished" ] && suits "$venv/bin/python" >/dev/null; then
        say "bringing .venv up to date …"
    else
        [ -e "$venv" ] && why=".venv is no working Python 3.12 or newer"
        say "$why, setting up .venv with $("$python" -I --version) (about a minute) …"
        run rm -rf "$venv"
        run mkdir "$venv"
        : >"$venv/.unfinished"
        run "$python" -I -m venv "$venv"
        rm "$venv/.unfinished"
    fi
    "$venv/bin/python" -I -c 'import pip' 2>/dev/null || run "$venv/bin/python" -I -m ensurepip # uv makes it without
    run "$venv/bin/python" -I -m pip install --quiet --no-input --constraint constraints.txt --editable ".[$1]"
    # xds-protos brings older files of the same name, and whoever comes last wins
    [ "$1" != dev ] || run "$venv/bin/python" -I -m pip install --quiet --no-input --force-reinstall --no-deps --constraint constraints.txt opentelemetry-proto
    fingerprint >"$venv/.toolmend-$1"
}

find_python() { # prints the full path of a Python that suits; changes to /, where no settings of pyenv, mise or uv are
    local name pyenv="${PYENV_ROOT:-$HOME/.pyenv}/versions"
    case $TOOLMEND_PYTHON in /*) ;; */*) TOOLMEND_PYTHON=$here/$TOOLMEND_PYTHON ;; esac
    cd / || return
    if [ -n "$TOOLMEND_PYTHON" ]; then
        suits "$TOOLMEND_PYTHON" ||
            fail "TOOLMEND_PYTHON=$TOOLMEND_PYTHON is no Python 3.12 or newer that can make a venv" "give the path of one, or unset it"
        return
    fi
    # A pyenv shim may be there for a version that is not selected, and fail: so each one is run, not only looked for.
    for name in python3.14 python3.13 python3.12 python3 python; do
        suits "$name" && return
    done
    for name in $(cd "$pyenv" 2>/dev/null && printf '%s\n' 3.* | grep -x '[0-9.]*' | sort -t. -k2,2nr -k3,3nr); do
        suits "$pyenv/$name/bin/python" && return
    done
    suits "$(uv python find --system '>=3.12' 2>/dev/null)" && return
    suits "$venv/bin/python" && return # made by hand, with a Python that is nowhere else
    fail "toolmend needs Python 3.12 or newer that can make a venv, and there is none on PATH, in pyenv or in uv" \
        "install one (brew install python@3.13, apt install python3.13-venv, pyenv install 3.13, uv python install 3.13) or name one: TOOLMEND_PYTHON=/path/to/python3.13"
}

suits() { # the interpreter behind the command (through shims and venvs), if it is new enough and can make a venv
    "$1" -I -c 'import ensurepip, sys, venv; print(sys._base_executable) if sys.version_info >= (3, 12) else sys.exit(1)' \
        2>/dev/null </dev/null
}

run() { # quiet, unless it fails
    local output code
    output=$("$@" 2>&1 </dev/null) && return
    code=$?
    printf '%s\n' "$output" >&2
    fail "setting up .venv failed (exit code $code); what it said is above" "see that the network and pip's settings are right, then run it again"
}

say() { printf 'toolmend: %s\n' "$1" >&2; }

fail() { # message, what to try
    printf 'error: %s\ntry: %s\n' "$1" "$2" >&2
    exit 3
}
