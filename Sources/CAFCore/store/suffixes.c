#include "store/suffixes.h"

#include "base/symbol.h"
#include "message/ip.h"

#include <pthread.h>

typedef struct psl psl;

/* libpsl is loaded at run time; these are the declarations of libpsl.h. */
static const psl *list;
static int (*is_suffix)(const psl *list, const char *domain);
static const char *(*registrable_domain)(const psl *list, const char *domain);

static void load(void) {
    const psl *(*builtin)(void);
    psl *(*latest)(const char *path);
    void *library = dlopen("libpsl.so.5", RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) return;
    bool is_usable = afc__symbol_find(library, "psl_is_public_suffix", &is_suffix,
                                      sizeof is_suffix) &&
                     afc__symbol_find(library, "psl_registrable_domain", &registrable_domain,
                                      sizeof registrable_domain);
    if (!is_usable) return;
    /* The system's file is newer than the list that is built into libpsl. */
    if (afc__symbol_find(library, "psl_latest", &latest, sizeof latest)) list = latest(NULL);
    if (list == NULL && afc__symbol_find(library, "psl_builtin", &builtin, sizeof builtin))
        list = builtin();
}

bool afc__suffixes_are_known(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return list != NULL;
}

bool afc__is_public_suffix(const char *domain) {
    return !afc__suffixes_are_known() || is_suffix(list, domain) != 0;
}

bool afc__is_known_suffix(const char *domain) {
    return afc__suffixes_are_known() && is_suffix(list, domain) != 0;
}

/** Returns the registrable domain of a host, or NULL if it has none. */
static const char *registered(const char *host) {
    afc__ip ip;
    if (afc__ip_parse(&ip, afc_slice_of(host)) || !afc__suffixes_are_known()) return NULL;
    return registrable_domain(list, host);
}

afc_slice afc__suffixes_site(const char *host) {
    const char *site = registered(host);
    return afc_slice_of(site != NULL ? site : host);
}

afc_slice afc__suffixes_root(const char *host) {
    afc__ip ip;
    if (afc__ip_parse(&ip, afc_slice_of(host)) || !afc__suffixes_are_known()) {
        return afc_slice_of(host);
    }
    const char *dot = host + strlen(host);
    do {
        dot = memrchr(host, '.', (size_t)(dot - host));
        const char *domain = dot != NULL ? dot + 1 : host;
        if (is_suffix(list, domain) == 0) return afc_slice_of(domain);
    } while (dot != NULL);
    return afc_slice_of(host);
}

bool afc__is_same_site(const char *host, const char *other) {
    if (strcmp(host, other) == 0) return true;
    const char *first = registered(host), *second = registered(other);
    return first != NULL && second != NULL && strcmp(first, second) == 0;
}
