# Sourced by the scripts next to it. Sets where things are and how stages are run and reported.
#
# AF_BUILD_DIR  where everything is built (default: .build in the checkout)
# AF_JOBS       how many compilers and tests run at once (default: the number of processors)

set -euo pipefail

AF_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
AF_BUILD_DIR=${AF_BUILD_DIR:-$AF_ROOT/.build}
AF_JOBS=${AF_JOBS:-$(nproc)}
AF_VENV=${AF_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/swiftaf/venv}
# For how many seconds a test waits for a test server, where sanitizers and few processors make everything slow.
AFTS_PATIENCE=${AFTS_PATIENCE:-600}
export AF_ROOT AF_BUILD_DIR AF_JOBS AF_VENV AFTS_PATIENCE

# Debian keeps nginx where an ordinary user's PATH does not reach.
PATH=$PATH:/usr/local/sbin:/usr/sbin
export PATH

die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# configure_c NAME COMPILER [CMAKE_ARGUMENT…]: configure the C side under AF_BUILD_DIR/c/NAME.
configure_c() {
    local directory=$AF_BUILD_DIR/c/$1 compiler=$2
    shift 2
    cmake -S "$AF_ROOT" -B "$directory" -DCMAKE_C_COMPILER="$compiler" "$@" >"$directory.log" 2>&1 ||
        { cat "$directory.log"; return 1; }
}

# build_c NAME COMPILER [CMAKE_ARGUMENT…]: configure and build all of it.
build_c() {
    configure_c "$@"
    cmake --build "$AF_BUILD_DIR/c/$1" -j "$AF_JOBS"
}

# test_c NAME [CTEST_ARGUMENT…]: run the C tests of a build.
test_c() {
    local directory=$AF_BUILD_DIR/c/$1
    shift
    ctest --test-dir "$directory" --output-on-failure --no-tests=error -j "$AF_JOBS" "$@"
}

# has_fuzzer COMPILER: can it link with libFuzzer and AddressSanitizer? Distributions package their runtimes apart.
has_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *bytes, unsigned long size) { return bytes == 0 && size; }' |
        "$1" -x c - -fsanitize=fuzzer,address -o /dev/null >/dev/null 2>&1
}

# find_fuzzer: print a clang that has it: the one on the PATH, which may be the Swift toolchain's, or the system's.
find_fuzzer() {
    local compiler
    for compiler in clang /usr/bin/clang; do
        if has_fuzzer "$compiler"; then
            echo "$compiler"
            return
        fi
    done
    return 1
}

swift_package() {
    local verb=$1
    shift
    swift "$verb" --package-path "$AF_ROOT" "$@"
}

# run_swift_tests [ARGUMENT…]: a few tests at once. All of them share as many threads as there are processors: begun all
# at the same time, each would wait for its turn for as long as all others need.
run_swift_tests() {
    local width=--experimental-maximum-parallelization-width
    # Not every toolchain has it.
    if swift test --help-hidden | grep -c -e "$width" >/dev/null; then
        set -- "$width" 8 "$@"
    fi
    swift_package test "$@"
}

# test_swift_slowly SCRATCH [ARGUMENT…]: the Swift tests where each is many times slower, one target after the other:
# all at once they would keep each other from the processors for longer than they wait for anything.
test_swift_slowly() {
    local scratch=$1 target targets
    shift
    swift_package build --build-tests --scratch-path "$scratch" "$@"
    targets=$(swift_package test list --skip-build --scratch-path "$scratch" "$@" | cut -d . -f 1 | sort -u)
    [ -n "$targets" ] || die "there are no Swift tests"
    for target in $targets; do
        run_swift_tests --skip-build --scratch-path "$scratch" "$@" --filter "^$target\\."
    done
}

mkdir -p "$AF_BUILD_DIR/c"

AF_SUMMARY=()

# stage NAME COMMAND…: run one step; the first one that fails ends the script, by its name.
stage() {
    local name=$1 start=$SECONDS status
    shift
    echo "==> $name"
    # Not inside `if`: there, `set -e` would not hold in the command.
    set +e
    (set -e && "$@")
    status=$?
    set -e
    if [ "$status" -ne 0 ]; then
        AF_SUMMARY+=("FAILED  $name")
        summary
        exit 1
    fi
    AF_SUMMARY+=("passed  $name ($((SECONDS - start)) s)")
}

summary() {
    echo
    printf '%s\n' "${AF_SUMMARY[@]}"
}
