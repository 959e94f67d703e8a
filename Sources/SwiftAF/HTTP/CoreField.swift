internal import CAFCore

/// The core's rules for header fields and tokens.
package enum CoreField {
    /// Checks whether a request may have this header.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` with the header's name, never its value.
    static func check(_ field: HTTPHeaders.Field) throws(SessionError) {
        guard check(field, nil) != .AFC_OK else { return }
        var failure = afc_failure()
        _ = check(field, &failure)
        throw SessionError(failure)
    }

    private static func check(
        _ field: HTTPHeaders.Field, _ failure: UnsafeMutablePointer<afc_failure>?
    ) -> afc_status {
        field.name.withCoreSlice { name in
            field.value.withCoreSlice { value in
                var header = afc_header(name: name, value: value, flags: 0)
                return afc_header_check(&header, failure)
            }
        }
    }

    /// Whether fields of this name contain credentials, in any case.
    static func isCredential(_ name: String) -> Bool {
        name.withCoreSlice(afc_header_is_credential)
    }

    /// Whether a text is a token (RFC 9110 5.6.2), as methods and header names are.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.withCoreSlice { afc_token_size($0) == $0.size }
    }

    /// Returns the token at the start of a text; empty without one.
    static func token(atStartOf text: Substring) -> Substring {
        var text = text
        let size = text.withUTF8 { afc_token_size(afc_slice(UnsafeRawBufferPointer($0))) }
        return Substring(text.utf8.prefix(size))
    }
}
