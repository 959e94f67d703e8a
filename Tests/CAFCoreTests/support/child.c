#include "support/child.h"

#include "support/check.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void child_exit(int code) {
    char command[32];
    snprintf(command, sizeof command, "exit %d", code);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void child_check(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
