/**
 * Trust evaluation: immutable policies that decide which certificate chains of servers are accepted, and
 * reports about their decisions. The fields of afc_trust_options and afc_trust_rule have the rules.
 */
#ifndef AFCORE_TRUST_H
#define AFCORE_TRUST_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

/** A trust policy: immutable, with a reference count. */
typedef struct afc_trust_policy afc_trust_policy;

/* ---- Reports ------------------------------------------------------------------------------- */

/** The result of pinning for a chain. */
typedef enum AFC_OPEN_ENUM afc_pin_outcome {
    AFC_PINS_NONE = 0,    /**< The host has no pins, or they weren't checked. */
    AFC_PINS_MATCHED = 1, /**< A pin matched. */
    AFC_PINS_MISSED = 2,  /**< No pin matched: refused. */
    AFC_PINS_EXPIRED = 3, /**< No pin matched, but the pins had expired: accepted. */
    AFC_PINS_REPORTED = 4 /**< No pin matched, but the rule is `report_only`: accepted. */
} afc_pin_outcome;

/** A certificate of a chain. Texts are UTF-8; non-printable characters are escaped. */
typedef struct afc_trust_certificate {
    afc_slice der;                /**< The certificate in DER. */
    const char *subject, *issuer; /**< Distinguished names (RFC 4514). */
    const char *serial;           /**< Serial number, hexadecimal. */
    const char *key;              /**< Type and size of the public key: "RSA 2048", "EC 256". */
    const char *signature;        /**< Signature algorithm: "ecdsa-with-SHA256". */
    int64_t not_before_s, not_after_s; /**< Validity, in Unix time. */
    const char *const
        *names; /**< Subject alternative names: DNS names and addresses without a prefix,
                                   others with their kind and a colon. */
    size_t name_count;
    char pin[53];         /**< "sha256//" and the base64 of the public key's SHA-256. */
    char fingerprint[65]; /**< SHA-256 of the certificate, hexadecimal. */
    uint64_t reserved[4]; /**< 0. */
} afc_trust_certificate;

/** The evaluation of a chain: the decision and the reasons for it. Created by the library only. */
typedef struct afc_trust_report {
    bool is_accepted; /**< The decision. */
    /** Why the chain was refused; also set if a chain with an error was accepted. */
    afc_trust_reason reason;
    int depth;        /**< Index in `chain` of the certificate with the error; 0 is the server's. */
    const char *text; /**< The reason, as one line in English. */
    afc_pin_outcome pins; /**< The result of pinning. */
    /** True if `chain` is the verified path; otherwise `chain` is the list that the peer sent, in its order. */
    bool is_verified;
    /** The host as it was compared: in lower case, without a trailing dot. "" if none was given. */
    const char *host;
    const afc_trust_certificate *chain; /**< The server's certificate first. */
    size_t chain_count;
} afc_trust_report;

/* ---- Policies ------------------------------------------------------------------------------ */

/** How pinned certificates are compared. `pins`, the digests of keys, are compared in both modes. */
typedef enum afc_pinning_mode {
    AFC_PINNING_NONE = 0,       /**< No pinning. */
    AFC_PINNING_PUBLIC_KEY = 1, /**< Compare public keys. */
    /** Compare whole certificates. The chain is also verified again with them as the only anchors. */
    AFC_PINNING_CERTIFICATE = 2
} afc_pinning_mode;

/** Which certificates of the verified chain must be pinned. If the chain isn't verified, only the server's
    certificate is compared, because the peer can send any other ones. */
typedef enum afc_pin_match {
    AFC_PIN_MATCH_ANY = 0,  /**< At least one. */
    AFC_PIN_MATCH_LEAF = 1, /**< The server's certificate. */
    AFC_PIN_MATCH_ALL = 2   /**< All of them. */
} afc_pin_match;

/**
 * The trust rule for a host. If all is 0: no pins, all checks. While pins are enforced, requests without TLS to the
 * host aren't sent and fail with AFC_EINVAL, after a redirect with AFC_EREDIRECT. Over a Unix-domain socket they are
 * sent.
 */
typedef struct afc_trust_rule {
    /**
     * "example.com", "*.example.com" (one label, as in a certificate) or an address. ASCII only:
     * internationalised names as A-labels. NULL in afc_trust_options.everywhere only. The most specific
     * rule for a host applies.
     */
    const char *host;
    bool include_subdomains; /**< Also for subdomains of `host`, at any depth. */
    afc_pinning_mode mode;   /**< How `certificates` are compared. */
    afc_pin_match match;     /**< Which certificates of a chain must be pinned. */
    afc_slice certificates;  /**< Pinned certificates: PEM or DER, one or many. */
    const char *const *pins; /**< Pinned keys, "sha256//BASE64"; include backup pins. */
    size_t pin_count;
    /** Pins are not enforced after this Unix time, for verified chains. 0 means no expiry. */
    int64_t expires_s;
    /** Accepts a verified chain without a matching pin, and only reports it. */
    bool report_only;
    /** Accepts a chain that isn't verified (expired, unknown issuer, …). The name is still checked. */
    bool allow_invalid_certificates;
    /**
     * Accepts certificates for other hosts. Responses under a name that the certificate doesn't have are stored in no
     * HTTP cache, and their Strict-Transport-Security in no HSTS store.
     */
    bool skip_host_check;
    uint64_t reserved[6]; /**< 0. */
} afc_trust_rule;

/** All checks, no pins. */
#define AFC_TRUST_RULE_INIT                                                                        \
    {                                                                                              \
        NULL, false, AFC_PINNING_NONE, AFC_PIN_MATCH_ANY, {NULL, 0}, NULL, 0, 0, false, false,     \
            false, {                                                                               \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * How the OCSP response that a server staples to its handshake is checked (RFC 6960, RFC 6066). A resumed TLS session
 * has none; it keeps the result of its full handshake. A good response must have a nextUpdate, without which an old
 * response could be replayed for ever. (RFC 6960 makes it optional for responders that always have newer information.)
 * A chain that is accepted without being verified (allow_invalid_certificates, `handler`) needs no response.
 */
typedef enum afc_ocsp_mode {
    AFC_OCSP_IGNORE = 0, /**< Don't request one. */
    AFC_OCSP_CHECK = 1, /**< Request one. If it is sent, or required (RFC 7633), it must be good. */
    AFC_OCSP_REQUIRE = 2 /**< Require a good one. */
} afc_ocsp_mode;

/** The decision of a trust handler. */
typedef enum afc_trust_decision {
    AFC_TRUST_DECISION_KEEP = 0,   /**< Keep the policy's decision. */
    AFC_TRUST_DECISION_ACCEPT = 1, /**< Accept the chain. */
    AFC_TRUST_DECISION_REFUSE = 2  /**< Refuse the chain. So does any other number. */
} afc_trust_decision;

/** A callback that can override the decision about a chain. */
typedef struct afc_trust_handler {
    void *context;
    /**
     * Called on the loop thread of the session during its handshake, or inside afc_trust_evaluate(); for a
     * shared policy on several threads at once. `report` is valid until it returns. Must not block.
     */
    afc_trust_decision (*decide)(void *context, const afc_trust_report *report);
    /** Called once, last, when the policy is freed. May be NULL. */
    void (*release)(void *context);
} afc_trust_handler;

/** Options of a policy. Start from AFC_TRUST_OPTIONS_INIT: the system's anchors, all checks. All are copied. */
typedef struct afc_trust_options {
    size_t size; /**< sizeof(afc_trust_options). */
    /**
     * Trust anchors that replace the system's: PEM or DER, one or many. They may be roots, intermediates or
     * certificates of servers. `bytes` NULL means the system's; an empty slice, as from an empty file, is AFC_EINVAL.
     */
    afc_slice anchors;
    bool keep_system_anchors; /**< Also trust the system's anchors. */
    /** Untrusted certificates that may complete a chain, for servers that don't send their intermediates. */
    afc_slice intermediates;
    /**
     * Certificate revocation lists (RFC 5280 section 5): PEM or DER, one or many. If there are any, the server's
     * certificate must be covered by a current one and not be revoked. `bytes` NULL means none; an empty slice, as from
     * an empty file, is AFC_EINVAL.
     */
    afc_slice crls;
    bool check_authorities; /**< With `crls`, check all issuers of the server's certificate, too. */
    afc_ocsp_mode ocsp;     /**< Default: AFC_OCSP_IGNORE. */
    /**
     * Minimum strength of keys and signatures: OpenSSL's security level, 1 to 5. Level 2 requires 112 bits (RSA 2048,
     * SHA-256). 0 means level 2 for certificates, and the system's level for the rest of TLS.
     */
    int security_level;
    /**
     * Verify as of this Unix time: certificates, revocation lists, OCSP responses, the expiry of pins. A revocation
     * counts even if its date is later. 0 means now.
     */
    int64_t time_s;
    afc_trust_rule everywhere;   /**< Default rule, for hosts without one; `host` is NULL. */
    const afc_trust_rule *rules; /**< Rules for single hosts. */
    size_t rule_count;
    afc_trust_handler handler; /**< Can override each decision. */
} afc_trust_options;

/** The system's anchors, all checks, no pins. */
#define AFC_TRUST_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(afc_trust_options), {NULL, 0}, false, {NULL, 0}, {NULL, 0}, false, AFC_OCSP_IGNORE, \
            0, 0, AFC_TRUST_RULE_INIT, NULL, 0, {                                                  \
            NULL, NULL, NULL                                                                       \
        }                                                                                          \
    }

/**
 * Creates a policy. `options` may be NULL for the defaults.
 *
 * Thread: any.    Owns: `*out` is yours, afc_trust_policy_release(). Takes `options->handler.context`; on failure
 * the handler's release is called before this function returns.
 * Fails: AFC_EINVAL (invalid certificates, revocation lists, pins or hosts; pins with AFC_PINNING_NONE;
 * two rules for one host), AFC_EINTERNAL (as afc_session_new(), after a fork), AFC_ENOMEM (out of memory or
 * descriptors), AFC_EFILE (with keep_system_anchors: the system's anchors can't be read now); `*out` is then NULL.
 */
AFC_API afc_status afc_trust_policy_new(afc_trust_policy **out, const afc_trust_options *options,
                                        afc_failure *failure);

/**
 * Adds a reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AFC_API afc_trust_policy *afc_trust_policy_retain(afc_trust_policy *policy);

/**
 * Releases a reference. NULL is allowed.
 *
 * Thread: any.    Owns: takes `policy`.    Fails: never.
 */
AFC_API void afc_trust_policy_release(afc_trust_policy *policy);

/**
 * Evaluates a chain as a handshake with `host` does, except OCSP. The certificates are in DER, the server's first; the
 * others may be in any order. If `host` is NULL, no name is compared and the default rule applies. `out` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours for either decision, afc_trust_report_free().
 * Fails: AFC_EUNTRUSTED (refused), AFC_EINVAL (no certificate, or an invalid one), AFC_EINTERNAL (as afc_session_new(),
 * after a fork), AFC_ENOMEM (out of memory or descriptors), AFC_EFILE (the system's anchors can't be read now); `*out`
 * is NULL except with AFC_EUNTRUSTED.
 */
AFC_API afc_status afc_trust_evaluate(afc_trust_report **out, const afc_trust_policy *policy,
                                      const afc_slice *chain, size_t count, const char *host,
                                      afc_failure *failure);

/**
 * Frees a report. NULL is allowed.
 *
 * Thread: any.    Owns: takes `report`.    Fails: never.
 */
AFC_API void afc_trust_report_free(afc_trust_report *report);

/**
 * Reads certificates and returns them as PEM. `path` is a file (PEM or DER, one or many) or a folder, whose
 * "*.cer" files are read; there may be none.
 *
 * Thread: any; reads files.    Owns: `out->bytes` is yours, afc_free().
 * Fails: AFC_EFILE (`path` can't be read), AFC_EINVAL (a file without a certificate, or of more than
 * 16 MiB), AFC_EINTERNAL (as afc_session_new(), after a fork), AFC_ENOMEM; `out` is then empty.
 */
AFC_API afc_status afc_certificates_read(afc_bytes *out, const char *path, afc_failure *failure);

AFC_END_DECLS

#endif
