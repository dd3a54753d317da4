import Multipart
import NIOCore
import Testing

@Suite("Multipart parser") struct MultipartParserTests {
    @Test("A form is split into its parts")
    func parts() throws {
        let form = """
            --b\r
            Content-Disposition: form-data; name="meta"\r
            \r
            {"a": 1}\r
            --b  \t\r
            content-disposition: form-data; name="file"; filename="a \\"b\\".jpg"\r
            Content-Type: image/jpeg\r
            \r
            \r
            --bb\r
            --b--\r
            an epilogue
            """
        #expect(
            try read(form, boundary: "b") == [
                Part(.init(name: "meta"), "{\"a\": 1}"),
                Part(.init(name: "file", fileName: "a \"b\".jpg", contentType: "image/jpeg"), "\r\n--bb"),
            ]
        )
    }

    @Test("The parts do not depend on how the body is split into chunks")
    func chunkBoundaries() throws {
        var numbers = SeededNumbers(state: 7)
        for boundary in ["b", "-", "--", "WebKitFormBoundary7MA4YWxkTrZu0gW", "a'()+_,-./:=? b", "\u{2D}\u{2D}b"] {
            for _ in 0..<60 {
                let parts = (0..<Int.random(in: 0...5, using: &numbers)).map { number in
                    Part(
                        .init(name: "f\(number)", fileName: Bool.random(using: &numbers) ? "n.bin" : nil),
                        content(boundary, &numbers)
                    )
                }
                let form = Self.form(parts, boundary)
                let piece = Int.random(in: 1...form.count, using: &numbers)
                #expect(try read(form, boundary: boundary, pieces: piece) == parts)
                #expect(try read(form, boundary: boundary, pieces: 1) == parts)
            }
        }
    }

    @Test("A form that ends early is reported as truncated")
    func truncatedForm() throws {
        let form = Self.form([Part(.init(name: "a"), "12\r\n3"), Part(.init(name: "b", fileName: "f"), "4")], "xyz")
        for count in 0..<(form.count - 2) {
            #expect(throws: MultipartError.truncated) {
                try read(Array(form[..<count]), boundary: "xyz", pieces: 3)
            }
        }
        #expect(try read(Array(form.dropLast(2)), boundary: "xyz").count == 2)
    }

    @Test("A damaged form is either parsed or rejected, and buffers few bytes")
    func damagedForms() throws {
        var numbers = SeededNumbers(state: 11)
        let whole = Self.form(
            [Part(.init(name: "a"), "1\r\n2"), Part(.init(name: "b", fileName: "f"), "\r\n--xy\r\n")],
            "xyz"
        )
        for _ in 0..<4_000 {
            var form = whole
            for _ in 0..<Int.random(in: 1...4, using: &numbers) where !form.isEmpty {
                let position = Int.random(in: form.indices, using: &numbers)
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0: form[position] = UInt8.random(in: 0...255, using: &numbers)
                case 1: form.remove(at: position)
                case 2: form.insert("\r\n-: \";=xyz\0".utf8.randomElement(using: &numbers) ?? 0, at: position)
                default: form.insert(contentsOf: "\r\n--xyz".utf8, at: position)
                }
            }
            let piece = Int.random(in: 1...8, using: &numbers)
            do {
                _ = try read(form, boundary: "xyz", pieces: piece)
            } catch is MultipartError {}
        }
    }

    @Test("A form with more parts than the limit is rejected at the limit")
    func partLimit() throws {
        let part = "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
        var parser = try #require(MultipartParser(boundary: "b", limits: MultipartLimits(parts: 64)))
        var taken = 0
        #expect(throws: MultipartError.tooManyParts(limit: 64)) {
            for _ in 0..<100_000 {
                parser.feed(ByteBuffer(string: part))
                while let event = try parser.next() { if event == .endOfPart { taken += 1 } }
            }
        }
        #expect(taken == 64)
    }

    @Test(
        "A part's header larger than 8,192 bytes is rejected",
        arguments: [
            "--b\r\nContent-Disposition: form-data; name=\"\(String(repeating: "n", count: 9_000))\"\r\n\r\n",
            "--b\r\nX: \(String(repeating: "n", count: 9_000))",
            "--b\r\n\(String(repeating: "X: 1\r\n", count: 2_000))\r\n",
        ]
    )
    func headerLimit(form: String) throws {
        for piece in [1, 100, 20_000] {
            #expect(throws: MultipartError.headerTooLarge(limit: 8_192)) {
                try read(form, boundary: "b", pieces: piece)
            }
        }
    }

    @Test(
        "A part with a malformed header is rejected",
        arguments: [
            "Content-Disposition: form-data\r\n", "Content-Disposition: form-data; name=\"\"\r\n", "X: 1\r\n", "",
            "Content-Disposition: attachment; name=a\r\n", "Content-Disposition: form-data; name=\"a\r\n",
            "Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b\r\n",
            "Content-Disposition: form-data; name=a; name=b\r\n", "Content-Disposition form-data; name=a\r\n",
            "Content-Disposition: form-data;\r\n name=a\r\n", ": x\r\nContent-Disposition: form-data; name=a\r\n",
            "Content-Disposition: form-data; name=\"a\0\"\r\n", "Content-Disposition: form-data; name=a\n",
            "Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n",
        ]
    )
    func malformedHeader(header: String) throws {
        #expect(throws: MultipartError.self) { try read("--b\r\n\(header)\r\n1\r\n--b--", boundary: "b") }
    }

    @Test("A malformed delimiter, or a body without any, is rejected")
    func malformedDelimiter() throws {
        for form in ["--b-x", "--b x\r\n", "--b\(String(repeating: " ", count: 100))", "--b \n"] {
            #expect(throws: MultipartError.self) { try read(form, boundary: "b") }
        }
        #expect(throws: MultipartError.self) {
            try read(String(repeating: "no form ", count: 1_000), boundary: "b")
        }
    }

    @Test("A malformed boundary is rejected")
    func malformedBoundary() {
        for boundary in ["", "b ", "ü", "a\r\nb", "a\"b", String(repeating: "b", count: 71)] {
            #expect(MultipartParser(boundary: boundary) == nil)
        }
    }

    @Test("The content of a long part is passed on without buffering")
    func boundedMemory() throws {
        var parser = try #require(MultipartParser(boundary: "boundary"))
        parser.feed(ByteBuffer(string: "--boundary\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n"))
        var numbers = SeededNumbers(state: 3)
        var (fed, taken) = (0, 0)
        for _ in 0..<200 {
            let bytes = numbers.bytes(1_000).map { $0 < 40 ? UInt8(ascii: "\r") : $0 }
            parser.feed(ByteBuffer(bytes: bytes))
            fed += bytes.count
            while let event = try parser.next() {
                if case .content(let bytes) = event { taken += bytes.readableBytes }
            }
            #expect(parser.waitingBytes < 16)
            #expect(fed - taken == parser.waitingBytes)
        }
    }

    private func content(_ boundary: String, _ numbers: inout SeededNumbers) -> [UInt8] {
        let pieces = ["\r", "\n", "\r\n", "-", "--", "\r\n-", "\r\n--", "\r\r\n--\(boundary.dropLast())", "x", "\0"]
        let delimiter = Array("\r\n--\(boundary)".utf8)
        let bytes = (0..<Int.random(in: 0...30, using: &numbers)).flatMap { _ in
            Array((pieces.randomElement(using: &numbers) ?? "").utf8)
        }
        // Content that contains a delimiter, or completes one, would end the part.
        let whole = Array("\r\n".utf8) + bytes + delimiter.dropLast()
        return whole.indices.contains { whole[$0...].starts(with: delimiter) } ? Array("x".utf8) : bytes
    }

    private static func form(_ parts: [Part], _ boundary: String) -> [UInt8] {
        var form: [UInt8] = []
        for part in parts {
            form += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(part.head.name)\"".utf8
            if let name = part.head.fileName { form += "; filename=\"\(name)\"".utf8 }
            form += "\r\n\r\n".utf8
            form += part.content
            form += "\r\n".utf8
        }
        return form + "--\(boundary)--\r\n".utf8
    }
}

struct Part: Equatable {
    let head: MultipartPart
    var content: [UInt8]

    init(_ head: MultipartPart, _ content: [UInt8]) {
        self.head = head
        self.content = content
    }

    init(_ head: MultipartPart, _ content: String) {
        self.init(head, Array(content.utf8))
    }
}

private func read(_ form: String, boundary: String, pieces: Int = 1 << 20) throws -> [Part] {
    try read(Array(form.utf8), boundary: boundary, pieces: pieces)
}

private func read(_ form: [UInt8], boundary: String, pieces: Int = 1 << 20) throws -> [Part] {
    var parser = try #require(MultipartParser(boundary: boundary))
    var parts: [Part] = []
    for start in stride(from: 0, to: form.count, by: pieces) {
        parser.feed(ByteBuffer(bytes: form[start..<min(start + pieces, form.count)]))
        while let event = try parser.next() {
            switch event {
            case .part(let head): parts.append(Part(head, [UInt8]()))
            case .content(let bytes): parts[parts.count - 1].content += bytes.readableBytesView
            case .endOfPart, .end: break
            }
        }
        #expect(parser.waitingBytes <= 8_192 + pieces)
    }
    try parser.finish()
    return parts
}

/// Random numbers that are the same in every run (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
