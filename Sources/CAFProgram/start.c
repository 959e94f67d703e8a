/* What has to be done before anything else in the program. */
#include "first_thread.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

/* Before the constructors of C++ and Swift, after those of the libraries. */
enum { BEFORE_SWIFT = 101 };

/*
 * glibc gives each thread a heap of its own, whose pages are new to the process. The few threads of this program
 * allocate little at the same time, except for the first two at the start.
 */
enum { MOST_HEAPS = 2 };

/*
 * The heap grows by this much at a time. Each growth locks the memory map, and stops both threads as they touch new
 * pages: 0.1 ms with glibc's 128 KiB (Benchmarks/first-byte). Pages that aren't touched take no memory.
 */
enum { HEAP_GROWTH = 1 << 20 };

/**
 * Opens standard streams that the caller closed; otherwise, a socket could get their descriptors. The replacement is
 * opened in the wrong direction, so using the stream fails.
 */
static void occupy_standard_descriptors(void) {
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0) (void)open("/dev/null", modes[descriptor]);
    }
}

__attribute__((constructor(BEFORE_SWIFT))) static void begin(void) {
    /* First, as the thread opens files. */
    occupy_standard_descriptors();
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, MOST_HEAPS);
    mallopt(M_TOP_PAD, HEAP_GROWTH);
#endif
    afp__start_first_thread();
}
