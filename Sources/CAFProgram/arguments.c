/*
 * The arguments of the process, as the Swift runtime asks for them. Its own implementation searches the stack for them,
 * between bounds that it reads from /proc/self/maps before `main`: 0.2 ms (Benchmarks/first-byte). glibc passes the
 * arguments to constructors.
 *
 * The symbols are weak. If a later runtime defines more in the object file that they replace, the linker takes its
 * definitions.
 */
#include <stdlib.h> /* Any header of the C library: each of them defines __GLIBC__. */

#ifdef __GLIBC__

static struct {
    char **first;
    int count;
} given, replaced;

__attribute__((constructor)) static void remember(int count, char **first, char **environment) {
    (void)environment;
    given.first = first;
    given.count = count;
}

/** Replaces the arguments. Part of the runtime's interface. */
__attribute__((weak)) void _swift_stdlib_overrideUnsafeArgvArgc(char **first, int count);
void _swift_stdlib_overrideUnsafeArgvArgc(char **first, int count) {
    replaced.first = first;
    replaced.count = count;
}

/** Returns the arguments, and their number in `*count`. Part of the runtime's interface. */
__attribute__((weak)) char **_swift_stdlib_getUnsafeArgvArgc(int *count);
char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
    *count = replaced.first != NULL ? replaced.count : given.count;
    return replaced.first != NULL ? replaced.first : given.first;
}

#endif
