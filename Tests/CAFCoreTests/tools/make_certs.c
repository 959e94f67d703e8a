/* Writes the chains of the tests into a folder, for servers of one's own: see Scripts/make-certs. */
#include "support/chains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool write_text(const char *folder, const char *name, const char *suffix, const char *text,
                       mode_t mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return false;
    }
    bool is_written = fchmod(fileno(file), mode) == 0 && fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    const char *folder = arguments[1];
    chains *chains = chains_new();
    bool is_good = write_text(folder, "root", "pem", afts_cert_pem(chains->root), 0644);
    for (size_t i = 0; i < chains->count && is_good; i++) {
        const chain *chain = &chains->all[i];
        char *pem = chain_pem(chain);
        is_good = write_text(folder, chain->name, "pem", pem, 0644) &&
                  write_text(folder, chain->name, "key", afts_cert_key_pem(chain->sent[0]), 0600);
        free(pem);
        printf("%-14s %s\n", chain->name, chain->meaning);
    }
    chains_free(chains);
    return is_good ? 0 : 1;
}
