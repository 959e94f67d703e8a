/** Looks up functions of optional libraries. */
#ifndef AFC_BASE_SYMBOL_H
#define AFC_BASE_SYMBOL_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/**
 * Looks up a function by name, and stores it in `*function`, a pointer of `size` bytes. Uses memcpy(), because C has no
 * conversion from object to function pointers. Returns false if the library doesn't have the function.
 */
static inline bool afc__symbol_find(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

#endif
