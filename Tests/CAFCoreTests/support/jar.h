/** Cookie jars of tests. */
#ifndef AFC_TESTS_JAR_H
#define AFC_TESTS_JAR_H

#include <afcore/cookie.h>

/** Makes an empty jar without a file; release it. */
afc_cookie_jar *jar_new(void);

/** Counts the cookies for a URL; NULL: all. */
size_t jar_count(afc_cookie_jar *jar, const char *url);

#endif
