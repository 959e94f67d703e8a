#include "base/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/** Returns the size of the UTF-8 character that `lead` starts; 1 if it can't start one. */
static size_t character_size(unsigned char lead) {
    if (lead >= 0xF0) return 4;
    if (lead >= 0xE0) return 3;
    return lead >= 0xC0 ? 2 : 1;
}

/** Returns the size of a text without its last character if that is incomplete. */
static size_t whole_size(const char *text, size_t size) {
    size_t start = size;
    while (start > 0 && size - start < 4) {
        start--;
        unsigned char byte = (unsigned char)text[start];
        if ((byte & 0xC0) == 0x80) continue;
        return character_size(byte) > size - start ? start : size;
    }
    return size;
}

int afc__cut(const char *text, size_t most) {
    return (int)whole_size(text, strnlen(text, most));
}

/** Replaces control characters (C0, DEL, C1): texts reach terminals and logs, and peers control parts of them. */
static void defuse_controls(char *text) {
    for (unsigned char *at = (unsigned char *)text; *at != '\0'; at++) {
        bool is_c1 = at[0] == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0;
        if (is_c1) at[1] = '?';
        if (is_c1 || *at < 0x20 || *at == 0x7F) *at = '?';
    }
}

afc_status afc__fail(afc_failure *failure, afc_status status, const char *format, ...) {
    if (failure == NULL) return status;
    afc_failure described = {.status = status};
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(described.text, sizeof described.text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        described.text[0] = '\0';
    } else if ((size_t)length >= sizeof described.text) {
        described.text[whole_size(described.text, sizeof described.text - 1)] = '\0';
    }
    defuse_controls(described.text);
    *failure = described;
    return status;
}

afc_status afc__give_reason(afc_failure *failure, afc_reason reason, afc_status status) {
    if (failure != NULL) failure->reason = reason;
    return status;
}

afc_status afc__name_failure(afc_failure *failure, const char *name, afc_status status) {
    if (failure == NULL) return status;
    afc_failure unnamed = *failure;
    afc__fail(failure, status, "%s: %s", name, unnamed.text);
    memcpy(unnamed.text, failure->text, sizeof unnamed.text);
    *failure = unnamed;
    return status;
}

bool afc__is_shortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

bool afc__is_status(int number) {
    switch (number) {
#define STATUS_CASE(identifier, value, name, text) case (value):
        AFC_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
        return true;
    default:
        return false;
    }
}

afc_status afc__fail_returned(afc_failure *failure, const char *callback, int number,
                              const char *accepted) {
    return afc__fail(failure, AFC_EINVAL, "%s returned %d: expected %s", callback, number,
                     accepted);
}

/**
 * Writes a path into `room` bytes. The middle of a path that is too long is left out: its end, and the reason that
 * follows it in the text, say more.
 */
static void shorten_path(char *shown, size_t room, const char *path) {
    static const char gap[] = "\xE2\x80\xA6"; /* An ellipsis. */
    size_t size = strlen(path);
    if (size < room) {
        memcpy(shown, path, size + 1);
        return;
    }
    size_t head = (room - sizeof gap) / 2;
    const char *tail = path + size - (room - sizeof gap - head);
    while (((unsigned char)*tail & 0xC0) == 0x80) tail++;
    snprintf(shown, room, "%.*s%s%s", afc__cut(path, head), path, gap, tail);
}

afc_status afc__fail_file(afc_failure *failure, const char *what, const char *path, int error) {
    char shown[AFC_FAILURE_TEXT_SIZE];
    const char *reason = strerror(error);
    size_t others = strlen(what) + strlen(reason) + strlen(" : ");
    /* `what` and `reason` are short, whatever the language of the system's texts. */
    size_t room = others < sizeof shown / 2 ? sizeof shown - others : sizeof shown / 2;
    shorten_path(shown, room, path);
    afc_status status = afc__fail(failure, AFC_EFILE, "%s %s: %s", what, shown, reason);
    if (failure != NULL) failure->system_error = error;
    return status;
}

void afc__fail_connect_timeout(afc_failure *failure, uint32_t limit_ms) {
    afc__fail(failure, AFC_ETIMEOUT, "connect timeout: no connection after %u ms",
              (unsigned)limit_ms);
    failure->timeout = AFC_TIMEOUT_CONNECT;
}

afc_status afc__fail_memory(afc_failure *failure) {
    return afc__fail(failure, AFC_ENOMEM, "out of memory");
}
