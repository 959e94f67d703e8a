# Sourced by the scripts next to it. Sets where things are and how stages are run and reported.
#
# AF_BUILD_DIR  where everything is built (default: .build in the checkout)
# AF_JOBS       how many compilers run at once (default: the number of processors)
# AF_TEST_JOBS  how many C tests run at once (default: four for each processor: most of them wait for a time limit)
# AF_THOROUGH   1: the tools under which everything is slow run all tests, also those that another tool covers

set -euo pipefail

AF_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Stages change the folder: a relative path is one of the folder where the first script began.
AF_BUILD_DIR=$(realpath -ms "${AF_BUILD_DIR:-$AF_ROOT/.build}")
AF_JOBS=${AF_JOBS:-$(nproc)}
AF_TEST_JOBS=${AF_TEST_JOBS:-$((4 * AF_JOBS))}
AF_VENV=${AF_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/swiftaf/venv}
# For how many seconds a test waits for a test server, where sanitizers and few processors make everything slow.
AFTS_PATIENCE=${AFTS_PATIENCE:-600}
AF_THOROUGH=${AF_THOROUGH:-0}
export AF_ROOT AF_BUILD_DIR AF_JOBS AF_TEST_JOBS AF_VENV AFTS_PATIENCE AF_THOROUGH

# Debian keeps nginx where an ordinary user's PATH does not reach. Only once: SwiftPM plans a build anew when PATH differs.
case :$PATH: in
*:/usr/local/sbin:/usr/sbin:*) ;;
*) PATH=$PATH:/usr/local/sbin:/usr/sbin ;;
esac
# SwiftPM 6.3 defines a package's traits in the order of a Set, which is another one in each process: then the next build
# compiles everything again, because its commands differ.
SWIFT_DETERMINISTIC_HASHING=1
export PATH SWIFT_DETERMINISTIC_HASHING

die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# configure_c NAME COMPILER [CMAKE_ARGUMENT…]: configure the C side under AF_BUILD_DIR/c/NAME. A warning is an error, and
# tests that can't be built are one, too: by default they are left out where cmocka is missing.
configure_c() {
    local directory=$AF_BUILD_DIR/c/$1 compiler=$2
    shift 2
    # lld links hundreds of programs in half of the time that GNU's linker takes. Gold is as quick, but warns about each
    # symbol of a sanitizer in each of them.
    if echo 'int main(void) { return 0; }' | "$compiler" -x c - -fuse-ld=lld -o /dev/null >/dev/null 2>&1; then
        set -- "$@" -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld
    fi
    # Ninja takes less time than make to see that hundreds of programs are up to date. A folder keeps its generator.
    if command -v ninja >/dev/null && [ ! -f "$directory/Makefile" ]; then
        set -- -G Ninja "$@"
    fi
    # Reports name lines, and nobody looks at variables: a tenth of the time would go to describing them.
    cmake -S "$AF_ROOT" -B "$directory" -DCMAKE_C_COMPILER="$compiler" -DAFCORE_WERROR=ON -DAFCORE_BUILD_TESTS=ON \
        -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O2 -g1 -DNDEBUG" -DCMAKE_C_FLAGS_DEBUG="-O1 -g1" "$@" >"$directory.log" 2>&1 ||
        { cat "$directory.log"; return 1; }
}

# build_c NAME COMPILER [CMAKE_ARGUMENT…]: configure and build all of it.
build_c() {
    configure_c "$@"
    cmake --build "$AF_BUILD_DIR/c/$1" -j "$AF_JOBS"
}

# test_c NAME [CTEST_ARGUMENT…]: run the C tests of a build. Those that skip themselves count as passed, so they are named.
test_c() {
    local directory=$AF_BUILD_DIR/c/$1 skipped
    shift
    ctest --test-dir "$directory" --output-on-failure --no-tests=error -j "$AF_TEST_JOBS" "$@"
    skipped=$(sed -n 's/^\[  SKIPPED \] \([a-z_0-9]*\)$/\1/p' "$directory/Testing/Temporary/LastTest.log" | sort -u | paste -s -d ' ')
    [ -z "$skipped" ] || remark "skipped here: $skipped"
}

# omit NAME…: print a pattern of CTest for these tests, which another tool covers.
omit() {
    local IFS='|'
    echo "^($*)$"
}

# has_fuzzer COMPILER: can it link with libFuzzer and AddressSanitizer? Distributions package their runtimes apart.
has_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *bytes, unsigned long size) { return bytes == 0 && size; }' |
        "$1" -x c - -fsanitize=fuzzer,address -o /dev/null >/dev/null 2>&1
}

# find_clang: print a clang with both: the one on the PATH, which may be the Swift toolchain's, or the system's.
find_clang() {
    local compiler
    for compiler in clang /usr/bin/clang; do
        if has_fuzzer "$compiler"; then
            echo "$compiler"
            return
        fi
    done
    return 1
}

# find_clang_format: print a clang-format 14, Debian 12's; others format in other ways.
find_clang_format() {
    local program
    for program in clang-format-14 clang-format; do
        if [[ $("$program" --version 2>/dev/null) == *"version 14."* ]]; then
            echo "$program"
            return
        fi
    done
    return 1
}

# The build that is used as it is: with all package traits. What is behind none of them is built and tested without
# traits under the sanitizers.
AF_SWIFT_BUILD=$AF_BUILD_DIR/swift-traits
AF_SWIFT_TRAITS=(--scratch-path "$AF_SWIFT_BUILD" --traits WebKit,GTK,Images,Compression)

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
    # Tests must not rely on the order of a Set.
    (unset SWIFT_DETERMINISTIC_HASHING && AF_REQUIRE_PROGRAM=1 require_tests swift_package test "$@")
}

# require_tests COMMAND…: `swift test` succeeds when a filter matches no test: then nothing was tested.
require_tests() {
    local log status=0
    log=$(mktemp "$AF_BUILD_DIR/swift-tests.XXXXXX")
    "$@" 2>&1 | tee "$log" || status=$?
    if [ "$status" -eq 0 ] && ! grep -qE 'Test run with [1-9]' "$log"; then
        echo "error: no test was run" >&2
        status=1
    fi
    rm -f "$log"
    return "$status"
}

# build_swift SCRATCH WARNING ARGUMENT…: a build from nothing, as on a build machine, shows every warning; one line with the
# pattern WARNING is enough to fail.
build_swift() {
    local scratch=$1 pattern=$2 log=$1.log
    shift 2
    swift_package build --scratch-path "$scratch" "$@" 2>&1 | tee "$log"
    if grep -E "$pattern" "$log"; then
        echo "the Swift build must be free of warnings"
        # A build that is continued wouldn't show them again.
        rm -rf "$scratch"
        return 1
    fi
}

# build_example NAME [ARGUMENT…]: build a package of Examples with the modules of AF_SWIFT_BUILD. It is a copy whose manifest
# asks for all traits: with others the modules would be compiled a second time, which takes most of the time.
build_example() {
    # SwiftPM 6.3 writes the traits of a dependency in another order than those of AF_SWIFT_TRAITS, and compiles all anew
    # when the order differs. These two lists give the same one.
    local copy=$AF_BUILD_DIR/examples/$1 traits='"Compression", "WebKit"'
    rm -rf "$copy"
    mkdir -p "$copy"
    # With the times of the sources: only what has changed is compiled.
    tar --create --directory "$AF_ROOT/Examples/$1" --exclude .build . | tar --extract --directory "$copy"
    sed -i -E "s|path: \"../..\"|path: \"$AF_ROOT\"|; s|traits: \[\"(Images\|GTK)\".*\]\)|traits: [$traits])|" "$copy/Package.swift"
    grep -qF "path: \"$AF_ROOT\"" "$copy/Package.swift" && grep -qF "traits: [$traits]" "$copy/Package.swift" ||
        die "Examples/$1/Package.swift has another form than this script knows"
    shift
    swift build --package-path "$copy" --scratch-path "$AF_SWIFT_BUILD" "$@"
}

# on_screen COMMAND…: a program of GTK, on a screen in memory, drawn without a graphics card.
on_screen() {
    GDK_BACKEND=x11 GSK_RENDERER=cairo GTK_A11Y=none GSETTINGS_BACKEND=memory G_DEBUG=fatal-criticals \
        xvfb-run --auto-servernum --server-args='-screen 0 1280x1024x24' "$@"
}

# has_web_sandbox: WebKit's processes need one, which containers may refuse.
has_web_sandbox() {
    bwrap --ro-bind / / --unshare-all true 2>/dev/null
}

AF_ANY_WARNING='(^|[^a-z])warning:'
# Of the compiler about a source: sanitizers may have remarks of their own.
AF_SOURCE_WARNING='\.(swift|c|h):[0-9].*warning:'

# test_swift_slowly SCRATCH OMITTED [ARGUMENT…]: the Swift tests where each is many times slower, one target after the
# other: all at once they would keep each other from the processors for longer than they wait for anything. Without the
# words of OMITTED: targets, or folders of one. They aren't compiled either, which takes most of the time.
test_swift_slowly() {
    local scratch=$1 target targets
    local -x AF_OMITTED_TESTS=$2
    shift 2
    local built=(--product SwiftAFPackageTests)
    if [ "$AF_THOROUGH" = 1 ]; then
        # With the program, which some of its tests begin.
        AF_OMITTED_TESTS=
        built=(--build-tests)
    fi
    build_swift "$scratch" "$AF_SOURCE_WARNING" "${built[@]}" "$@"
    targets=$(swift_package test list --skip-build --scratch-path "$scratch" "$@" | cut -d . -f 1 | sort -u)
    [ -n "$targets" ] || die "there are no Swift tests"
    for target in $targets; do
        run_swift_tests --skip-build --scratch-path "$scratch" "$@" --filter "^$target\\."
    done
}

mkdir -p "$AF_BUILD_DIR/c"

# ---- Stages and lanes ----
#
# A stage is one step. Stages run one after the other, or in lanes: lanes run at the same time, the stages of a lane one
# after the other. What a stage of a lane prints is shown when it has ended, so that outputs don't mix. The first stage
# that fails ends its lane; the other lanes end after the stage that they are at.

AF_RUN=$AF_BUILD_DIR/run-$$
AF_LANE=
AF_LANES=()
AF_LANE_NAMES=()

begin_run() {
    [ ! -d "$AF_RUN" ] || return 0
    mkdir -p "$AF_RUN"
    export AF_REMARKS=$AF_RUN/summary
    trap 'rm -rf "$AF_RUN"' EXIT
    trap end_lanes INT TERM HUP
}

has_failed() {
    [ -e "$AF_RUN/failed" ]
}

# run_stage LOG COMMAND…: what it prints goes to the log, too. Not inside `if`, where `set -e` would not hold in the
# command.
run_stage() {
    local log=$1
    shift
    set +e
    (set -e && trap - EXIT && "$@") 2>&1 | tee "$log"
    AF_STATUS=${PIPESTATUS[0]}
    set -e
}

# show_failures LOG: the lines that name a failed test, a sanitizer's finding, a compiler's error or the place of a
# crash. The summary repeats them: the end of a long output must say what failed.
AF_FAILURES='✘|\[  FAILED  \]|\(Failed\)|\(Timeout\)|error:|SUMMARY: |ERROR: |WARNING: ThreadSanitizer|signal code|^fuzz: '
show_failures() {
    {
        # Lines with ◇ say that a test began; its arguments may look like an error.
        grep -v '◇' "$1" | grep -E "$AF_FAILURES" | grep -v 'known issue' | tail -n 15
        # Swift's report of a crash: what happened, and the first frames of the thread where it did.
        sed -n -E '/^\*\*\* .*crashed|Fatal error: /p; /^Thread .* crashed:/,/^Thread .*[^d]:$/p' "$1" |
            grep -E '^\*\*\* |Fatal error: |^Thread .* crashed:|^ *[0-9]+ ' | head -n 30
    } | grep . || tail -n 15 "$1"
}

# remark TEXT: the summary repeats it, also that of the script which runs this one as a stage.
remark() {
    echo "$1"
    [ -z "${AF_REMARKS:-}" ] || echo "        $1" >>"$AF_REMARKS"
}

# Sets AF_CPU to the processor time, in seconds, that the children of this shell have taken so far.
read_cpu() {
    local fields
    read -r -a fields <"/proc/$BASHPID/stat"
    AF_CPU=$(((fields[15] + fields[16]) / $(getconf CLK_TCK)))
}

# stage NAME COMMAND…: run one step; the first one that fails ends the script, or its lane.
stage() {
    local name=$1 start=$SECONDS log took cpu
    shift
    begin_run
    read_cpu
    cpu=$AF_CPU
    if has_failed; then
        exit 1
    fi
    log=$AF_RUN/${AF_LANE:-stage}.log
    [ -z "$AF_LANE" ] || echo "$name" >"$AF_RUN/$AF_LANE.stage"
    if [ -z "$AF_LANE" ]; then
        echo "==> $name"
        run_stage "$log" "$@"
    else
        echo "... $name has begun"
        run_stage "$log" "$@" >/dev/null
        # One at a time.
        (flock 9 && echo "==> $name" && cat "$log") 9>>"$AF_RUN/lock"
    fi
    read_cpu
    took="$((SECONDS - start)) s, CPU $((AF_CPU - cpu)) s"
    if [ "$AF_STATUS" -ne 0 ]; then
        echo "FAILED  $name ($took)" >>"$AF_RUN/summary"
        (flock 9 && show_failures "$log" | cut -c 1-300) 9>>"$AF_RUN/lock" >>"$AF_RUN/failures"
        touch "$AF_RUN/failed"
        [ -n "$AF_LANE" ] || summary
        exit 1
    fi
    echo "passed  $name ($took)" >>"$AF_RUN/summary"
}

# lane NAME COMMAND…: begin a lane; the command calls `stage`.
lane() {
    begin_run
    AF_LANE=$1
    shift
    # In a process group of its own, so that all of it can be ended.
    set -m
    (trap - EXIT TERM HUP && "$@") &
    set +m
    AF_LANES+=($!)
    AF_LANE_NAMES+=("$AF_LANE")
    AF_LANE=
}

# Ended from outside, as by a time limit: show what each lane was at.
end_lanes() {
    local id index
    for id in "${AF_LANES[@]}"; do
        kill -- "-$id" 2>/dev/null || true
    done
    for index in "${!AF_LANES[@]}"; do
        lane_place "$index"
        tail -n 50 "$AF_RUN/${AF_LANE_NAMES[index]}.log" 2>/dev/null || true
    done
    exit 143
}

lane_place() {
    local name=${AF_LANE_NAMES[$1]}
    echo "lane $name, at $(cat "$AF_RUN/$name.stage" 2>/dev/null || echo "its start")"
}

# Wait for all lanes; a stage that failed ends the script.
join_lanes() {
    local index status
    for index in "${!AF_LANES[@]}"; do
        status=0
        wait "${AF_LANES[index]}" || status=$?
        if [ "$status" -ne 0 ]; then
            # A stage that failed has said so; a lane that was killed has not.
            [ "$status" -eq 1 ] || echo "FAILED  $(lane_place "$index"): status $status" >>"$AF_RUN/summary"
            touch "$AF_RUN/failed"
        fi
    done
    AF_LANES=()
    AF_LANE_NAMES=()
    if has_failed; then
        summary
        exit 1
    fi
}

# The last lines of the output: what passed, what failed, and how long it took.
summary() {
    echo
    cat "$AF_RUN/summary"
    [ ! -e "$AF_RUN/failures" ] || cat "$AF_RUN/failures"
    if has_failed; then
        echo "FAILED after $SECONDS s"
    else
        echo "all passed in $SECONDS s"
    fi
}
