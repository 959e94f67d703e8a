#include <afcore/version.h>

const char *af_version(void) {
    return AFCORE_VERSION_STRING;
}

int af_version_number(void) {
    return AFCORE_VERSION_NUMBER;
}
