import FoundationEssentials
import SwiftAF
import Testing

/// The counterparts of AFNetworking's AFHTTPResponseSerializationTests, under their names.
@Suite struct HTTPResponseSerializationTests {
    private let serializer = DataResponseSerializer()

    private func response(_ status: Int, type: String? = "text/html") -> HTTPResponse {
        HTTPResponse(
            status: status, headers: type.map { ["Content-Type": $0] } ?? [:], url: "https://test.test/")
    }

    private func isValid(_ verdict: ResponseValidation.Verdict) -> Bool {
        if case .valid = verdict { true } else { false }
    }

    @Test func handlesAll2XXCodes() {
        for status in 200...299 {
            #expect(serializer.validation.acceptableStatusCodes?.contains(status) == true)
            let verdict = serializer.validation.validate(response(status), body: Data("text".utf8))
            #expect(isValid(verdict))
        }
    }

    @Test func succeedsWith205WithNoResponseContentTypeAndNoResponseData() {
        let validation = ResponseValidation(acceptableContentTypes: ["test/test"])
        #expect(isValid(validation.validate(response(205, type: nil), body: Data())))
        #expect(!isValid(validation.validate(response(205, type: nil), body: Data("text".utf8))))
    }

    @Test func failsWith205WithNoResponseContentTypeAndResponseData() {
        let validation = ResponseValidation(acceptableContentTypes: ["test/test"])
        let verdict = validation.validate(response(205, type: nil), body: Data("text".utf8))
        #expect(!isValid(verdict) && verdict.error?.code == .contentType)
    }

    @Test func failsAll4XX5XXStatusCodes() {
        for status in 400...599 {
            #expect(serializer.validation.acceptableStatusCodes?.contains(status) == false)
            let verdict = serializer.validation.validate(response(status), body: Data("text".utf8))
            #expect(verdict.error?.code == .status && verdict.error?.status == status)
        }
    }

    @Test func responseIsValidated() throws {
        #expect(try serializer.serialize(response(200), body: Data("text".utf8)) == Data("text".utf8))
    }

    @Test func canBeCopied() {
        let original = DataResponseSerializer(
            validation: ResponseValidation(
                acceptableStatusCodes: [100], acceptableContentTypes: ["test/type"], acceptableSuffixes: ["x"]))
        var copy = original
        #expect(copy == original && copy.hashValue == original.hashValue)
        copy.validation.acceptableStatusCodes = nil
        #expect(copy != original && original.validation.acceptableStatusCodes == [100])
    }

    @Test func roundTripsValidationThroughCoding() throws {
        let original = DataResponseSerializer(
            validation: ResponseValidation(acceptableStatusCodes: nil, acceptableContentTypes: ["a/b", "c/d"]))
        #expect(try recoded(original) == original)
        let text = StringResponseSerializer(validation: ResponseValidation(acceptableStatusCodes: [418]))
        #expect(try recoded(text) == text)
    }
}
