#include "support/jar.h"

#include "support/check.h"

afc_cookie_jar *jar_new(void) {
    afc_cookie_jar *jar;
    check_status(afc_cookie_jar_new(&jar, NULL, NULL), AFC_OK);
    return jar;
}

size_t jar_count(afc_cookie_jar *jar, const char *url) {
    afc_cookie_list *list;
    check_status(afc_cookie_jar_copy(&list, jar, url, NULL), AFC_OK);
    size_t count = list->count;
    afc_cookie_list_free(list);
    return count;
}
