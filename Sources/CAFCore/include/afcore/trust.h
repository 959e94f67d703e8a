/**
 * Which servers are trusted: a policy, made once and never changed, and what it says about a chain
 * of certificates. docs/trust.md tells which verdict follows from what.
 */
#ifndef AFCORE_TRUST_H
#define AFCORE_TRUST_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

typedef struct af_trust_policy af_trust_policy;

/* ---- What a report says -------------------------------------------------------------------- */

/** What pinning had to say about a chain. */
typedef enum AF_OPEN_ENUM af_pin_outcome {
    AF_PINS_NONE = 0, /**< Nothing is pinned for this host, or it didn't come to that. */
    AF_PINS_MATCHED = 1,
    AF_PINS_MISSED = 2,  /**< Refused for it. */
    AF_PINS_EXPIRED = 3, /**< Missed, and let through: the pins were good until a date. */
    AF_PINS_REPORTED = 4 /**< Missed, and let through: the rule only reports. */
} af_pin_outcome;

/** One certificate of a chain. Text is UTF-8; what can't be printed is escaped. */
typedef struct af_trust_certificate {
    af_slice der;
    const char *subject, *issuer; /**< Distinguished names, RFC 4514. */
    const char *serial;           /**< Hexadecimal. */
    const char *key;              /**< Kind and size of the public key: "RSA 2048", "EC 256". */
    const char *signature;        /**< The algorithm that signed it: "ecdsa-with-SHA256". */
    int64_t not_before_s, not_after_s; /**< Unix time. */
    const char *const *names; /**< Alternative names: DNS names and addresses as they stand, others
                                   with their kind before a colon. */
    size_t name_count;
    char pin[53];         /**< "sha256//" and the base64 of the public key's digest. */
    char fingerprint[65]; /**< SHA-256 of the certificate, hexadecimal. */
} af_trust_certificate;

/** A verdict, with what it was made of. Made by the library only. */
typedef struct af_trust_report {
    bool is_accepted;
    /** Why not; also set if a chain with a fault was let through. */
    af_trust_reason reason;
    int depth;        /**< Of the certificate at fault in `chain`; 0 is the server's own. */
    const char *text; /**< One line for people. */
    af_pin_outcome pins;
    /** Is `chain` the path that was verified? Otherwise it is what the peer sent, and worth as much. */
    bool is_verified;
    const char
        *host; /**< As it was compared: lower case, without a final dot. "" if it was not given. */
    const af_trust_certificate *chain; /**< The server's own first. */
    size_t chain_count;
} af_trust_report;

/* ---- Policies ------------------------------------------------------------------------------ */

/** How pinned certificates are compared. Pins that are digests of keys count in both modes. */
typedef enum af_pinning_mode {
    AF_PINNING_NONE = 0,
    AF_PINNING_PUBLIC_KEY = 1, /**< By their keys. */
    /** Whole. They are also the anchors of a second verification, for which the system's don't count. */
    AF_PINNING_CERTIFICATE = 2
} af_pinning_mode;

/** Which certificates of the verified chain must be pinned. Of a chain that is not verified only the
    server's own ever counts: the rest is whatever the peer chose to send. */
typedef enum af_pin_match {
    AF_PIN_MATCH_ANY = 0,  /**< One, whichever. */
    AF_PIN_MATCH_LEAF = 1, /**< The server's own. */
    AF_PIN_MATCH_ALL = 2   /**< Every one. */
} af_pin_match;

/** What goes for a host. Zeroed: nothing is pinned, everything is checked. */
typedef struct af_trust_rule {
    /**
     * "example.com", "*.example.com" (one label in place of the star, as in a certificate), or an
     * address. In ASCII: an internationalised name by its A-labels. NULL only in
     * af_trust_options.everywhere. Of several rules for a host the most specific one goes.
     */
    const char *host;
    bool includes_subdomains; /**< The names below `host` too, at any depth. */
    af_pinning_mode mode;
    af_pin_match match;
    af_slice certificates;   /**< Pinned: PEM or DER, one or many. */
    const char *const *pins; /**< "sha256//BASE64" of a key, backup pins among them. */
    size_t pin_count;
    /** Unix time from when on a missed pin of a verified chain is no fault. 0: never. */
    int64_t expires_s;
    /** A missed pin of a verified chain is told in the report, and let through. */
    bool report_only;
    /** Accept a chain that does not verify (expired, unknown issuer …). The name still counts. */
    bool allow_invalid_certificates;
    /** Accept a certificate of another host. */
    bool skip_host_check;
} af_trust_rule;

/** What to do with the answer of an OCSP responder that a server sends along ("stapling"). */
typedef enum af_ocsp_mode {
    AF_OCSP_IGNORE = 0,
    AF_OCSP_CHECK = 1, /**< Ask for one; one that comes, or must come (RFC 7633), has to be good. */
    AF_OCSP_REQUIRE = 2 /**< None is as bad as one that is not good. */
} af_ocsp_mode;

/** What a hook says. */
typedef enum af_trust_answer {
    AF_TRUST_ANSWER_KEEP = 0, /**< The policy's verdict stands. */
    AF_TRUST_ANSWER_ACCEPT = 1,
    AF_TRUST_ANSWER_REFUSE = 2
} af_trust_answer;

/** Has the last word on a verdict. */
typedef struct af_trust_hook {
    void *context;
    /**
     * On the loop thread of the session that is shaking hands, or in af_trust_evaluate(); policies
     * that are shared, by several threads at once. `report` lives until the return. Must not block.
     */
    af_trust_answer (*decide)(void *context, const af_trust_report *report);
    /** Called once, last, when the policy goes. May be NULL. */
    void (*release)(void *context);
} af_trust_hook;

/** Start from AF_TRUST_OPTIONS_INIT: the system's anchors, everything checked. Everything is copied. */
typedef struct af_trust_options {
    size_t size; /**< sizeof(af_trust_options), for growth. */
    /**
     * Certificates that are trusted instead of the system's: PEM or DER, one or many. Those of
     * intermediate authorities and of servers count too. Empty: the system's.
     */
    af_slice anchors;
    bool keeps_system_anchors; /**< The system's as well as `anchors`. */
    /** Certificates that may complete a chain, for servers that don't send theirs. Not trusted. */
    af_slice intermediates;
    /**
     * Revocation lists, PEM or DER, one or many. If there are any, the server's certificate must
     * be covered by one that is in force, and not be on it.
     */
    af_slice crls;
    bool checks_authorities; /**< With `crls`: so must all the certificates above it. */
    af_ocsp_mode ocsp;
    /**
     * Strength of keys and signatures, 1 to 5 as OpenSSL counts; 2 asks for 112 bits (RSA 2048,
     * SHA-256). 0: 2 for certificates, and the system's setting for the rest of TLS.
     */
    int security_level;
    int64_t time_s;           /**< Unix time of the verification. 0: now. */
    af_trust_rule everywhere; /**< For hosts without a rule of their own; its `host` is NULL. */
    const af_trust_rule *rules;
    size_t rule_count;
    af_trust_hook hook;
} af_trust_options;

#define AF_TRUST_OPTIONS_INIT                                                                      \
    {                                                                                              \
        sizeof(af_trust_options), {NULL, 0}, false, {NULL, 0}, {NULL, 0}, false, AF_OCSP_IGNORE,   \
            0, 0, {NULL,  false, AF_PINNING_NONE, AF_PIN_MATCH_ANY, {NULL, 0}, NULL, 0, 0, false,  \
                   false, false},                                                                  \
            NULL, 0, {                                                                             \
            NULL, NULL, NULL                                                                       \
        }                                                                                          \
    }

/**
 * Make a policy. Takes `options->hook.context`, also when it fails (release is then called before
 * it returns). `options` may be NULL for the defaults, `failure` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, af_trust_policy_release().
 * Fails: AF_EINVAL (certificates, revocation lists, pins or hosts that can't be read, pins with a mode
 * that would ignore them, two rules for one host), AF_EINTERNAL (as af_session_new(), after a fork), AF_ENOMEM;
 * `*out` is then NULL.
 */
AF_API af_status af_trust_policy_new(af_trust_policy **out, const af_trust_options *options,
                                     af_failure *failure);

/**
 * A further reference.
 *
 * Thread: any.    Owns: the returned reference is yours.    Fails: never.
 */
AF_API af_trust_policy *af_trust_policy_retain(af_trust_policy *policy);

/**
 * Give a reference back. NULL is fine.
 *
 * Thread: any.    Owns: takes `policy`.    Fails: never.
 */
AF_API void af_trust_policy_release(af_trust_policy *policy);

/**
 * Judge a chain as a handshake with `host` would: the server's certificate first, each in DER; the
 * order of the others doesn't matter. OCSP is not looked at. `host` NULL: no name is compared, and
 * the rule for hosts without one of their own goes. `out` and `failure` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, af_trust_report_free(); it is there for either verdict.
 * Fails: AF_EUNTRUSTED (not accepted), AF_EINVAL (no certificate, or one that can't be read),
 * AF_EINTERNAL (as af_session_new(), after a fork), AF_ENOMEM; with all but the first `*out` is NULL.
 */
AF_API af_status af_trust_evaluate(af_trust_report **out, const af_trust_policy *policy,
                                   const af_slice *chain, size_t count, const char *host,
                                   af_failure *failure);

/**
 * Free a report. NULL is fine.
 *
 * Thread: any.    Owns: takes `report`.    Fails: never.
 */
AF_API void af_trust_report_free(af_trust_report *report);

/**
 * Read the certificates at `path`, as PEM: those of a file (PEM or DER, one or many), or those of
 * all "*.cer" files of a folder, of which there may be none. `failure` may be NULL.
 *
 * Thread: any; reads files.    Owns: `out->bytes` is yours, af_free().
 * Fails: AF_EFILE (can't be read), AF_EINVAL (a file without a certificate), AF_EINTERNAL (as af_session_new(),
 * after a fork), AF_ENOMEM; `out` is then empty.
 */
AF_API af_status af_certificates_read(af_bytes *out, const char *path, af_failure *failure);

AF_END_DECLS

#endif
