/* Converts a verification to a report. */
#include "base/alloc.h"
#include "base/fork_gate.h"
#include "base/text.h"
#include "trust/evaluate.h"
#include "trust/names_text.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct report_block {
    afc_trust_report report; /* First member: callers have a pointer to it. */
    afc_trust_certificate *chain;
    char *text, *host;
} report_block;

/* ---- Texts --------------------------------------------------------------------------------- */

/**
 * Returns the text in `bio` and empties it. NULL when out of memory. Control characters are escaped, because the
 * author of a certificate must not be able to write lines of a report: ASN1_STRING_print() keeps line breaks, and
 * other names are copied.
 */
static char *take_text(BIO *bio) {
    char *bytes = NULL;
    long written = BIO_get_mem_data(bio, &bytes);
    size_t size = written > 0 ? (size_t)written : 0, controls = 0;
    for (size_t i = 0; i < size; i++) controls += afc__is_control(bytes[i]);
    char *text = afc__alloc(size + 3 * controls + 1), *at = text;
    for (size_t i = 0; i < size && text != NULL; i++) {
        if (afc__is_control(bytes[i])) {
            at += snprintf(at, 5, "\\x%02x", (unsigned)(unsigned char)bytes[i]);
        } else {
            *at++ = bytes[i];
        }
    }
    if (text != NULL) *at = '\0';
    BIO_reset(bio);
    return text;
}

static char *name_text(BIO *bio, const X509_NAME *name) {
    /* Escapes control characters, but not the bytes of UTF-8. */
    unsigned long form = XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB;
    X509_NAME_print_ex(bio, name, 0, form);
    return take_text(bio);
}

static char *alternative_text(BIO *bio, GENERAL_NAME *name) {
    afc__general_name_write(bio, name);
    return take_text(bio);
}

static char *key_text(BIO *bio, X509 *certificate) {
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    if (key == NULL) {
        BIO_printf(bio, "unknown");
    } else {
        const char *type = EVP_PKEY_get0_type_name(key);
        BIO_printf(bio, "%s %d", type != NULL ? type : "unknown", EVP_PKEY_get_bits(key));
    }
    return take_text(bio);
}

static char *serial_text(BIO *bio, X509 *certificate) {
    const ASN1_INTEGER *serial = X509_get0_serialNumber(certificate);
    afc__hex_print(bio, ASN1_STRING_get0_data(serial), ASN1_STRING_length(serial));
    return take_text(bio);
}

static char *signature_text(BIO *bio, const X509 *certificate) {
    BIO_printf(bio, "%s", OBJ_nid2ln(X509_get_signature_nid(certificate)));
    return take_text(bio);
}

/* ---- Certificates -------------------------------------------------------------------------- */

static int64_t seconds_of(const ASN1_TIME *time) {
    struct tm parts;
    if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
    return (int64_t)timegm(&parts);
}

static bool copy_der(afc_trust_certificate *out, X509 *certificate) {
    unsigned char *der = NULL;
    int size = i2d_X509(certificate, &der);
    if (size > 0) {
        out->der.bytes = afc__copy_text((afc_slice){(const char *)der, (size_t)size});
        out->der.size = (size_t)size;
    }
    OPENSSL_free(der);
    return size > 0 && out->der.bytes != NULL;
}

static bool add_names(afc_trust_certificate *out, BIO *bio, X509 *certificate) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int count = names != NULL ? sk_GENERAL_NAME_num(names) : 0;
    const char **texts = count > 0 ? afc__zalloc((size_t)count * sizeof *texts) : NULL;
    bool is_complete = count == 0 || texts != NULL;
    out->names = texts;
    for (int i = 0; i < count && is_complete; i++) {
        texts[i] = alternative_text(bio, sk_GENERAL_NAME_value(names, i));
        is_complete = texts[i] != NULL;
        if (is_complete) out->name_count++;
    }
    GENERAL_NAMES_free(names);
    return is_complete;
}

static bool add_digests(afc_trust_certificate *out, X509 *certificate) {
    afc__key_hash key;
    unsigned char print[AFC__DIGEST_SIZE];
    if (!afc__key_hash_of(&key, certificate)) return false;
    afc__pin_write(out->pin, &key);
    if (X509_digest(certificate, EVP_sha256(), print, NULL) != 1) return false;
    afc__hex_write(out->fingerprint, print, sizeof print);
    return true;
}

static bool describe(afc_trust_certificate *out, BIO *bio, X509 *certificate) {
    out->not_before_s = seconds_of(X509_get0_notBefore(certificate));
    out->not_after_s = seconds_of(X509_get0_notAfter(certificate));
    return copy_der(out, certificate) && add_digests(out, certificate) &&
           (out->subject = name_text(bio, X509_get_subject_name(certificate))) != NULL &&
           (out->issuer = name_text(bio, X509_get_issuer_name(certificate))) != NULL &&
           (out->serial = serial_text(bio, certificate)) != NULL &&
           (out->key = key_text(bio, certificate)) != NULL &&
           (out->signature = signature_text(bio, certificate)) != NULL &&
           add_names(out, bio, certificate);
}

static void free_text(const char *text) {
    afc_free((char *)(uintptr_t)text);
}

static void forget(afc_trust_certificate *certificate) {
    for (size_t i = 0; i < certificate->name_count; i++) free_text(certificate->names[i]);
    afc_free((void *)(uintptr_t)certificate->names);
    free_text(certificate->der.bytes);
    free_text(certificate->subject);
    free_text(certificate->issuer);
    free_text(certificate->serial);
    free_text(certificate->key);
    free_text(certificate->signature);
}

/* ---- Reports ------------------------------------------------------------------------------- */

static bool fill(report_block *block, const afc__verification *verification) {
    const afc__verdict *verdict = &verification->verdict;
    afc_trust_report *report = &block->report;
    size_t count = (size_t)sk_X509_num(verification->chain);
    BIO *bio = BIO_new(BIO_s_mem());
    block->chain = afc__zalloc(count * sizeof *block->chain);
    block->text = afc__copy_text(afc_slice_of(verdict->text));
    block->host = afc__copy_text(afc_slice_of(verification->host.text));
    bool is_complete = bio != NULL && block->chain != NULL && block->text != NULL &&
                       block->host != NULL;
    report->is_accepted = verdict->is_accepted;
    report->reason = verdict->reason;
    report->depth = verdict->depth;
    report->pins = verdict->pins;
    report->is_verified = verdict->is_verified;
    report->text = block->text;
    report->host = block->host;
    report->chain = block->chain;
    for (size_t i = 0; i < count && is_complete; i++) {
        report->chain_count = i + 1;
        is_complete = describe(&block->chain[i], bio, sk_X509_value(verification->chain, (int)i));
    }
    BIO_free(bio);
    ERR_clear_error();
    return is_complete;
}

/** Returns whether the fault is missed pins that are only reported or have expired, which changes nothing. */
static bool has_forgiven_pins(const afc__verdict *verdict) {
    return verdict->reason == AFC_TRUST_PIN &&
           (verdict->pins == AFC_PINS_REPORTED || verdict->pins == AFC_PINS_EXPIRED);
}

bool afc__verification_is_faultless(const afc__verification *verification) {
    if (verification == NULL) return false;
    const afc__verdict *verdict = &verification->verdict;
    return verdict->is_accepted && verdict->is_verified && verdict->names_host &&
           (verdict->reason == AFC_TRUST_ACCEPTED || has_forgiven_pins(verdict));
}

afc_trust_report *afc__verification_report(const afc__verification *verification) {
    report_block *block = afc__zalloc(sizeof *block);
    if (block == NULL) return NULL;
    afc__fork_gate_enter(NULL);
    bool is_filled = fill(block, verification);
    afc__fork_gate_leave(NULL);
    if (is_filled) return &block->report;
    afc_trust_report_free(&block->report);
    return NULL;
}

void afc_trust_report_free(afc_trust_report *report) {
    if (report == NULL) return;
    report_block *block = (report_block *)(void *)report;
    for (size_t i = 0; i < report->chain_count; i++) forget(&block->chain[i]);
    afc_free(block->chain);
    afc_free(block->text);
    afc_free(block->host);
    afc_free(block);
}
