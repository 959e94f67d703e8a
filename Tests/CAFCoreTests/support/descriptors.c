#include "support/descriptors.h"

#include "support/check.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static struct rlimit before;

void descriptors_deny(void) {
    /* The lowest free number: all below are taken. */
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(lowest >= 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {(rlim_t)lowest, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

void descriptors_allow(void) {
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}
