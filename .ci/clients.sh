# The step `clients` of `.ci/run`, which sources this file: real clients, what the compiler says, real servers.
# shellcheck shell=bash

workspace=examples/clients

in_clients() {
    local command=$1
    shift
    cargo "$command" --quiet --locked --manifest-path "$workspace/Cargo.toml" --target-dir "$built" "$@"
}

# Each program must not compile, and the compiler must say the words that stand in its lines `//>`.
messages() {
    local program name said words missing=0
    for program in "$workspace"/messages/*.rs; do
        name=$(basename "$program" .rs)
        if said=$(in_clients build --features messages --bin "message_$name" 2>&1); then
            echo "$program compiles"
            return 1
        fi
        while IFS= read -r words; do
            grep -qF -- "$words" <<<"$said" || { echo "$program: nobody says: $words"; missing=1; }
        done < <(sed -n 's|^//> ||p' "$program")
        [ "$missing" = 0 ] || { echo "$said"; return 1; }
        echo "$name: as it should be"
    done
}

# Packages that apt brings, if it can; no service of theirs is started.
apt_brings() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    echo "installing $*"
    {
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@"
    } >/dev/null 2>&1
}

# A server that is there, or that apt can bring.
has_server() {
    command -v "$1" >/dev/null || { apt_brings "$1" && command -v "$1" >/dev/null; }
}

# The clients mostly wait, and do so beside each other; so does the server whose limits are waited for. The other programs of
# the servers measure, and run one after another.
clients() {
    local program name
    step "clients: build" in_clients build --bins
    # The servers' programs measure: what was begun ends first.
    together
    server nginx_limit_req beside
    for program in "$workspace"/src/bin/*/; do
        name=$(basename "$program")
        case $name in
            nginx_limit_req) ;;
            nginx_* | haproxy_*) server "$name" step ;;
            *) beside "client $name" "$built/debug/$name" ;;
        esac
    done
    beside "clients: what the compiler says" messages
    together
}

# Runs a program of a server, as a step or beside others.
server() {
    local server=${1%%_*}
    if has_server "$server"; then
        "$2" "server $1" "$built/debug/$1"
    else
        skip "server $1 ($server is not installed, and cannot be by apt)"
    fi
}
