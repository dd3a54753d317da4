@testable import COSE
import Foundation
@testable import Multipart
import NIOCore
@testable import OAuth1
@testable import SMTP
@testable import ServiceHost
@testable import SocketIO
@testable import Tus
@testable import WebAuthn

extension FuzzTarget {
    static let forms = [
        multipart, fieldParameters, formFields, tusMetadata, requestHeaders, cbor, authenticatorData, smtpReply,
        mailAddress,
    ]

    /// A form in pieces, whose length the first byte determines.
    static let multipart = FuzzTarget("multipart") { bytes in
        guard var parser = MultipartParser(boundary: "b"), let first = bytes.first else { return }
        let length = max(1, Int(first) * 16)
        var rest = bytes.dropFirst()
        do {
            while !rest.isEmpty {
                parser.feed(ByteBuffer(bytes: rest.prefix(length)))
                rest = rest.dropFirst(length)
                while try parser.next() != nil {}
                precondition(parser.waitingBytes <= 16_384 + length, "the parser buffers more than it needs")
            }
            try parser.finish()
        } catch {
            // Silence: most forms are malformed.
        }
    }

    static let fieldParameters = FuzzTarget("field-parameters") { bytes in
        let value = FieldParameters(String(decoding: bytes, as: UTF8.self))
        _ = value?["boundary"]
        _ = value?["filename"]
    }

    static let formFields = FuzzTarget("form-fields") { bytes in
        let fields = FormField.parse(String(decoding: bytes, as: UTF8.self))
        let again = FormField.parse(fields.encoded)
        precondition(again == fields, "encoded fields are parsed differently")
    }

    static let tusMetadata = FuzzTarget("tus-metadata") { bytes in
        _ = TusMetadata(String(decoding: bytes, as: UTF8.self))?["filename"]
    }

    static let requestHeaders = FuzzTarget("request-headers") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        for size: Int64 in [0, 1, 1_000, .max] {
            guard case .part(let range) = ByteRange(text, size: size) else { continue }
            precondition(range.lowerBound >= 0 && range.upperBound <= size && !range.isEmpty)
        }
        precondition(TraceParent(text).text.utf8.count == 55)
        if let address = IPAddress(text) {
            precondition(IPAddress(address.description) == address, "an address is formatted as another")
            _ = AddressRanges(text)?.contains(address)
        }
        _ = SocketQuery(text[...])["token"]
    }

    static let cbor = FuzzTarget("cbor") { bytes in
        _ = try? CBORDecoder.decode(Data(bytes))
        guard let (value, length) = try? CBORDecoder.decodeFirst(Data(bytes)) else { return }
        precondition(length <= bytes.count)
        _ = (value.int, value[3], value["fmt"])
    }

    static let authenticatorData = FuzzTarget("authenticator-data") { bytes in
        _ = try? AuthenticatorData(Data(bytes))
        _ = try? ClientData(Data(bytes))
    }

    static let smtpReply = FuzzTarget("smtp-reply") { bytes in
        var parser = SMTPReplyParser()
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            // Silence: parsing ends at a malformed reply.
            guard (try? parser.parse(line)) != nil else { return }
        }
    }

    static let mailAddress = FuzzTarget("mail-address") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        // Silence: most texts are no address.
        guard let address = try? MailAddress(text, name: text) else { return }
        precondition(
            !address.text.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 },
            "an address contains a line break"
        )
    }
}
