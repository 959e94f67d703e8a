#include <afcore/error.h>

const char *af_status_name(af_status status) {
    switch (status) {
#define STATUS_NAME(identifier, number, name, text)                                                \
    case AF_##identifier:                                                                          \
        return name;
        AF_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "unknown";
}

const char *af_status_text(af_status status) {
    switch (status) {
#define STATUS_TEXT(identifier, number, name, text)                                                \
    case AF_##identifier:                                                                          \
        return text;
        AF_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

const char *af_trust_reason_name(af_trust_reason reason) {
    switch (reason) {
    case AF_TRUST_ACCEPTED:
        return "accepted";
    case AF_TRUST_EXPIRED:
        return "expired";
    case AF_TRUST_NOT_YET_VALID:
        return "notYetValid";
    case AF_TRUST_WRONG_HOST:
        return "wrongHost";
    case AF_TRUST_SELF_SIGNED:
        return "selfSigned";
    case AF_TRUST_UNKNOWN_ISSUER:
        return "unknownIssuer";
    case AF_TRUST_PIN:
        return "pin";
    case AF_TRUST_REVOKED:
        return "revoked";
    case AF_TRUST_WEAK:
        return "weak";
    case AF_TRUST_OTHER:
        return "other";
    case AF_TRUST_UNTRUSTED_ROOT:
        return "untrustedRoot";
    case AF_TRUST_NAME_CONSTRAINT:
        return "nameConstraint";
    case AF_TRUST_PURPOSE:
        return "purpose";
    case AF_TRUST_PATH_LENGTH:
        return "pathLength";
    case AF_TRUST_NOT_AN_AUTHORITY:
        return "notAnAuthority";
    case AF_TRUST_BAD_SIGNATURE:
        return "badSignature";
    case AF_TRUST_UNKNOWN_REVOCATION:
        return "unknownRevocation";
    case AF_TRUST_MALFORMED:
        return "malformed";
    case AF_TRUST_HOOK:
        return "hook";
    }
    return "other";
}
