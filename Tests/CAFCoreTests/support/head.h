/** A head of an answer, written down in one line. */
#ifndef AFC_TESTS_HEAD_H
#define AFC_TESTS_HEAD_H

#include "message/head.h"
#include "support/check.h"

typedef struct parsed_head {
    afc_header headers[8];
    afc_head head;
    afc__framing framing;
} parsed_head;

/** Its fields as "Name: value", a newline between two; the text must live as long. */
void make_head(parsed_head *out, int status, const char *fields);

#endif
