# The steps for wasm32-unknown-unknown of `.ci/run`, which sources this file: what runs in a browser is built, and runs there.
# shellcheck shell=bash

wasm_target=wasm32-unknown-unknown
# Debian's compiler with the sources of its standard library, unpacked and not installed.
wasm_root=$PWD/target/wasm-std

# The way in which this machine builds for wasm: with a standard library of rustup's, or with one that is built along, from
# the sources that apt brings.
wasm_way() {
    if has_wasm_target || { timeout 120 rustup target add "$wasm_target" && has_wasm_target; } >/dev/null 2>&1; then
        echo rustup
    elif unpacks_wasm_std >/dev/null 2>&1; then
        echo apt
    else
        return 1
    fi
}

has_wasm_target() {
    grep -qx "$wasm_target" <<<"$(rustup target list --installed 2>/dev/null)"
}

# About 130 MB, once. The linker is the one of the machine's own toolchain.
unpacks_wasm_std() {
    local std llvm
    [ -x "$(wasm_linker)" ] || return 1
    [ ! -x "$wasm_root/usr/bin/rustc" ] || return 0
    command -v apt-get && command -v dpkg || return 1
    apt-get update -qq || true
    std=$(apt-cache depends libstd-rust-web-dev | awk '/Depends: *libstd-rust-web-/ { print $2; exit }')
    llvm=$(apt-cache depends "$std" | awk '/Depends: *libllvm/ { print $2; exit }')
    [ -n "$std" ] && [ -n "$llvm" ] || return 1
    (
        mkdir -p "$wasm_root.new" && cd "$wasm_root.new" || exit 1
        apt-get download -qq rustc-web rust-web-src libstd-rust-web-dev "$std" "$llvm" || exit 1
        for package in *.deb; do
            dpkg -x "$package" . || exit 1
        done
        rm -f ./*.deb
    ) && mv "$wasm_root.new" "$wasm_root"
}

wasm_linker() {
    echo "$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld"
}

# cargo for wasm, in the way that `wasm_way` found: wasm_cargo WAY COMMAND ARGUMENTS..
wasm_cargo() {
    local way=$1 command=$2
    shift 2
    local arguments=("$command" --target "$wasm_target" --target-dir target/wasm "$@")
    if [ "$way" = rustup ]; then
        cargo "${arguments[@]}"
        return
    fi
    local linker cargo
    linker=$(wasm_linker)
    # Past rustup's own `cargo`, which would set the compiler.
    cargo=$(rustc --print sysroot)/bin/cargo
    LD_LIBRARY_PATH=$(dirname "$(find "$wasm_root/usr/lib" -name 'libLLVM*.so*' -print -quit)") \
        RUSTC="$wasm_root/usr/bin/rustc" RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$linker" \
        "$cargo" "${arguments[@]}" -Zbuild-std=std,panic_abort
}

# The program of `wasm_page`, and what puts a program into a browser; the crates that decide, with what their users may choose,
# and the adapters, whose lines for the browser are seen by no other step.
wasm() {
    local way=$1 set
    wasm_cargo "$way" build --quiet --locked --manifest-path tests/browser/Cargo.toml --lib
    browser_cargo build
    local -x RUSTC_WORKSPACE_WRAPPER=$PWD/.ci/rustc-warnings
    wasm_cargo "$way" check --quiet -p http-retry-core -p http-retry-rules -p http-retry-dialects -p http-retry-services \
        -p http-retry-config -p http-retry-testing \
        --features http-retry-core/serde,http-retry-core/tracing,http-retry-core/metrics,http-retry-rules/json
    for set in "" reqwest "hyper,http2,llm,metrics,reqwest,serde,testing,tracing"; do
        echo "http-retry: ${set:-none}"
        wasm_cargo "$way" check --quiet -p http-retry --no-default-features --features "$set"
    done
}

# The tests of the middleware in a headless browser: wasm_page BROWSER
wasm_page() {
    in_browser "$1" middleware "target/wasm/$wasm_target/debug/browser.wasm"
}

# The playground, whose numbers must be those of the program on this machine, which the tests have built. Its pictures stay
# in `target`.
playground() {
    mkdir -p target/screenshots
    HTTP_RETRY_SCREENSHOTS=$PWD/target/screenshots in_browser "$1" playground playground "$built/debug/http-retry"
}

in_browser() {
    browser_cargo run -- "$@"
}

browser_cargo() {
    local command=$1
    shift
    cargo "$command" --quiet --locked --manifest-path tests/browser/Cargo.toml --target-dir target/wasm "$@"
}

# The playground's program needs a target of its own.
has_wasi() {
    timeout 120 rustup target add wasm32-wasip1 >/dev/null 2>&1
}
