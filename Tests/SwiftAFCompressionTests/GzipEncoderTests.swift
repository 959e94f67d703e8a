import FoundationEssentials
import SwiftAF
import SwiftAFCompression
import Testing

@Suite struct GzipEncoderTests {
    @Test func theSerializerTakesIt() throws {
        var serializer = JSONRequestSerializer()
        serializer.base.bodyEncoder = .gzip
        #expect(serializer.base.bodyEncoder?.contentEncoding == "gzip")
        #expect(GzipEncoder().level == 6 && GzipEncoder.gzip(level: 9).level == 9)
    }

    #if !Compression
        @Test func withoutTheTraitItIsUnsupported() {
            var serializer = JSONRequestSerializer()
            serializer.base.bodyEncoder = .gzip
            let error = #expect(throws: SessionError.self) {
                try serializer.serialize(HTTPRequest(.post, "http://h/"), parameters: [1])
            }
            #expect(error?.code == .unsupported && error?.url == "http://h/")
        }
    #endif
}
