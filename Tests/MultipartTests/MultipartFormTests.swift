import NIOCore
import Testing

@testable import Multipart

@Suite("Multipart forms") struct MultipartFormTests {
    @Test("A written form parses to the same parts")
    func roundTrip() throws {
        var form = MultipartForm()
        form.add("te\"xt\r\n", "ünï\r\n--c0de")
        form.add("json", contentType: "application/json", ByteBuffer(string: "{}"))
        form.add("file", fileName: "a \"cat\".jpg", contentType: "image/jpeg", ByteBuffer(bytes: [0xFF, 0, 13, 10]))
        let type = try #require(FieldParameters(form.contentType))
        #expect(type.word == "multipart/form-data")
        let boundary = try #require(type["boundary"])
        var parser = try #require(MultipartParser(boundary: boundary))
        parser.feed(form.finished())
        var events: [MultipartParser.Event] = []
        while let event = try parser.next() { events.append(event) }
        try parser.finish()
        #expect(
            events.merged() == [
                .part(MultipartPart(name: "te\"xt\r\n")),
                .content(ByteBuffer(string: "ünï\r\n--c0de")), .endOfPart,
                .part(MultipartPart(name: "json", contentType: "application/json")),
                .content(ByteBuffer(string: "{}")), .endOfPart,
                .part(MultipartPart(name: "file", fileName: "a \"cat\".jpg", contentType: "image/jpeg")),
                .content(ByteBuffer(bytes: [0xFF, 0, 13, 10])), .endOfPart,
                .end,
            ]
        )
    }

    @Test("A form has the exact bytes of the RFC's example")
    func bytes() {
        var form = MultipartForm(boundary: "AaB03x")
        form.add("field1", "Joe")
        #expect(form.contentType == "multipart/form-data; boundary=AaB03x")
        #expect(
            String(buffer: form.finished())
                == "--AaB03x\r\nContent-Disposition: form-data; name=\"field1\"\r\n\r\nJoe\r\n--AaB03x--\r\n"
        )
    }
}

extension [MultipartParser.Event] {
    /// Joins consecutive pieces of content, because their sizes have no meaning.
    fileprivate func merged() -> [MultipartParser.Event] {
        reduce(into: []) { merged, event in
            if case .content(let more) = event, case .content(var content) = merged.last {
                content.writeImmutableBuffer(more)
                merged[merged.count - 1] = .content(content)
            } else {
                merged.append(event)
            }
        }
    }
}
