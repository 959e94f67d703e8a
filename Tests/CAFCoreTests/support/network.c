#include "support/network.h"

#include "support/check.h"

#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int run_ip(const char *words) {
    char text[256];
    char *arguments[32] = {"ip"};
    size_t count = 1;
    snprintf(text, sizeof text, "%s", words);
    char *rest = text;
    char *word;
    while ((word = strtok_r(rest, " ", &rest)) != NULL && count < COUNT_OF(arguments) - 1) {
        arguments[count++] = word;
    }
    pid_t child;
    int status = -1;
    if (posix_spawnp(&child, "ip", NULL, NULL, arguments, environ) != 0) return -1;
    while (waitpid(child, &status, 0) < 0) {}
    return status;
}

bool network_enter(void) {
    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    return run_ip("link set lo down") == 0 && run_ip("link add v0 type veth peer name v1") == 0 &&
           run_ip("link del v0") == 0;
}

void network_ip(const char *words) {
    if (run_ip(words) == 0) return;
    print_error("ip %s\n", words);
    fail();
}

void network_switch(const char *link, bool on) {
    struct ifreq request = {0};
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(descriptor >= 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", link);
    assert_int_equal(ioctl(descriptor, SIOCGIFFLAGS, &request), 0);
    if (on) {
        request.ifr_flags |= IFF_UP;
    } else {
        request.ifr_flags = (short)(request.ifr_flags & ~IFF_UP);
    }
    assert_int_equal(ioctl(descriptor, SIOCSIFFLAGS, &request), 0);
    close(descriptor);
}
