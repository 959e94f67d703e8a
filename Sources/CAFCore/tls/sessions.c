/*
 * libcurl 8.12 and later serialise a session and parse it before it is resumed, which loses
 * OpenSSL's ex_data. A ticket's application data is preserved, also in the copy of the session that
 * every TLS 1.3 ticket makes. It holds a number, unique in the process, so a session accepted under
 * another policy is never found here.
 */
#include "tls/sessions.h"

#include <stdatomic.h>
#include <string.h>

static uint64_t next_number(void) {
    static atomic_uint_fast64_t numbers;
    return (uint64_t)atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
}

bool afc__tls_sessions_add(afc__tls_sessions *sessions, SSL *ssl, afc__verification *verification) {
    uint64_t number = next_number();
    SSL_SESSION *session = SSL_get0_session(ssl);
    if (SSL_SESSION_set1_ticket_appdata(session, &number, sizeof number) != 1) return false;
    struct afc__tls_session *entry = &sessions->entries[sessions->next];
    afc__verification_release(entry->verification);
    *entry = (struct afc__tls_session){number, afc__verification_retain(verification)};
    sessions->next = (sessions->next + 1) % AFC__TLS_SESSIONS;
    return true;
}

afc__verification *afc__tls_sessions_find(const afc__tls_sessions *sessions, const SSL *ssl) {
    SSL_SESSION *session = SSL_get0_session(ssl);
    void *data = NULL;
    size_t size = 0;
    uint64_t number;
    if (session == NULL || SSL_SESSION_get0_ticket_appdata(session, &data, &size) != 1) return NULL;
    if (size != sizeof number) return NULL;
    memcpy(&number, data, sizeof number);
    for (size_t i = 0; i < AFC__TLS_SESSIONS; i++) {
        const struct afc__tls_session *entry = &sessions->entries[i];
        if (entry->number == number) return entry->verification;
    }
    return NULL;
}

void afc__tls_sessions_clear(afc__tls_sessions *sessions) {
    for (size_t i = 0; i < AFC__TLS_SESSIONS; i++) {
        afc__verification_release(sessions->entries[i].verification);
    }
}
