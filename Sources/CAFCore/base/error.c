#include <afcore/error.h>

const char *afc_status_name(afc_status status) {
    switch (status) {
#define STATUS_NAME(identifier, number, name, text)                                                \
    case AFC_##identifier:                                                                         \
        return name;
        AFC_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "unknown";
}

const char *afc_status_text(afc_status status) {
    switch (status) {
#define STATUS_TEXT(identifier, number, name, text)                                                \
    case AFC_##identifier:                                                                         \
        return text;
        AFC_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

const char *afc_reason_name(afc_reason reason) {
    switch (reason) {
#define REASON_CASE(identifier, number, name)                                                      \
    case AFC_REASON_##identifier:                                                                  \
        return name;
        AFC_REASON_MAP(REASON_CASE)
#undef REASON_CASE
    }
    return "none";
}

const char *afc_trust_reason_name(afc_trust_reason reason) {
    switch (reason) {
    case AFC_TRUST_ACCEPTED:
        return "accepted";
    case AFC_TRUST_EXPIRED:
        return "expired";
    case AFC_TRUST_NOT_YET_VALID:
        return "notYetValid";
    case AFC_TRUST_WRONG_HOST:
        return "wrongHost";
    case AFC_TRUST_SELF_SIGNED:
        return "selfSigned";
    case AFC_TRUST_UNKNOWN_ISSUER:
        return "unknownIssuer";
    case AFC_TRUST_PIN:
        return "pin";
    case AFC_TRUST_REVOKED:
        return "revoked";
    case AFC_TRUST_WEAK:
        return "weak";
    case AFC_TRUST_OTHER:
        return "other";
    case AFC_TRUST_UNTRUSTED_ROOT:
        return "untrustedRoot";
    case AFC_TRUST_NAME_CONSTRAINT:
        return "nameConstraint";
    case AFC_TRUST_PURPOSE:
        return "purpose";
    case AFC_TRUST_PATH_LENGTH:
        return "pathLength";
    case AFC_TRUST_NOT_AN_AUTHORITY:
        return "notAnAuthority";
    case AFC_TRUST_BAD_SIGNATURE:
        return "badSignature";
    case AFC_TRUST_UNKNOWN_REVOCATION:
        return "unknownRevocation";
    case AFC_TRUST_MALFORMED:
        return "malformed";
    case AFC_TRUST_HANDLER:
        return "handler";
    }
    return "other";
}
