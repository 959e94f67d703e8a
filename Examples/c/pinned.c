/*
 * pinned URL HOST PIN...: fetches a URL from a host whose chain must contain one of the public keys, "sha256//BASE64".
 * With no PIN it prints the keys of the host's chain.
 */
#include <afcore/afcore.h>
#include <stdio.h>

static void print_chain(afc_result *result) {
    const afc_trust_report *report = afc_result_get_trust(result);
    for (size_t i = 0; report != NULL && i < report->chain_count; i++) {
        printf("%s %s\n", report->chain[i].pin, report->chain[i].subject);
    }
}

int main(int argc, char **argv) {
    afc_session *session = NULL;
    afc_trust_policy *policy = NULL;
    afc_result *result = NULL;
    afc_failure failure;
    if (argc < 3) {
        fprintf(stderr, "usage: %s URL HOST PIN...\n", argv[0]);
        return 2;
    }
    const afc_trust_rule rule = {.host = argv[2],
                                 .mode = argc > 3 ? AFC_PINNING_PUBLIC_KEY : AFC_PINNING_NONE,
                                 .pins = (const char *const *)argv + 3,
                                 .pin_count = (size_t)argc - 3};
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_request request = AFC_REQUEST_INIT;
    trust.rules = &rule;
    trust.rule_count = 1;
    request.url = argv[1];
    afc_status status = afc_trust_policy_new(&policy, &trust, &failure);
    options.trust = policy;
    if (status == AFC_OK) status = afc_session_new(&session, &options, &failure);
    if (status == AFC_OK) status = afc_perform(&result, session, &request, &failure);
    if (status == AFC_OK) {
        printf("status %d\n", afc_result_get_head(result)->status);
    } else if (status == AFC_EUNTRUSTED) {
        fprintf(stderr, "refused (%s): %s\n", afc_trust_reason_name(failure.trust), failure.text);
    } else {
        fprintf(stderr, "%s\n", failure.text);
    }
    if (result != NULL) print_chain(result);
    afc_result_free(result);
    afc_session_release(session);
    afc_trust_policy_release(policy);
    return status == AFC_OK ? 0 : 1;
}
