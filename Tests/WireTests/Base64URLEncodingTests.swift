import Foundation
import Testing
import Wire

/// Base64url compared with Foundation.
@Suite("Base64url encoding") struct Base64URLEncodingTests {
    @Test("Encoding and decoding match Foundation's")
    func matchesFoundation() {
        for count in 0..<70 {
            let bytes = Data((0..<count).map { _ in UInt8.random(in: .min ... .max) })
            let text = Base64URL.encode(bytes)

            let padded = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
            #expect(bytes.base64EncodedString().replacingOccurrences(of: "=", with: "") == padded)
            #expect(Base64URL.decode(text) == bytes)
        }
        #expect(Base64URL.encode(Data([0xFB, 0xFF, 0xFE])) == "-__-")
    }

    @Test("Random text has the requested number of bytes and does not repeat")
    func random() {
        for count in [1, 7, 8, 9, 16, 32] {
            #expect(Base64URL.decode(Base64URL.random(bytes: count))?.count == count)
        }
        #expect(Set((0..<1_000).map { _ in Base64URL.random(bytes: 16) }).count == 1_000)
    }
}
