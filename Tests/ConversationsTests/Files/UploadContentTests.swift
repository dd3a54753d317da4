import ConversationsAPI
import Foundation
import HTTPTypes
import NIOCore
import TestSupport
import Testing
import Wire

/// The type, name and size of uploaded files.
@Suite("Content of uploaded files") struct UploadContentTests {
    @Test(
        "The bytes decide the media type, and a browser never executes a file",
        arguments: zip(
            [Sample.zip, Sample.svg, Sample.html, [0xFF, 0xFE, 0x3C, 0x00], Array(Sample.jpeg.prefix(20))],
            ["application/zip", "text/plain", "text/plain", "application/octet-stream", "image/jpeg"]
        )
    )
    func mediaType(bytes: [UInt8], expected: String) async throws {
        try await withFiles { fixture async throws in
            for claimed in ["image/jpeg", "text/html", "image/svg+xml", "application/javascript", "a/b; c=\"d\""] {
                var form = Form()
                form.add("mime", "image/jpeg")
                form.add(file: bytes, named: "photo.jpg", type: claimed)
                let sent = [
                    try await fixture.bo.upload(form.whole, as: Form.contentType, to: fixture.path),
                    try await fixture.bo.upload(bytes, as: claimed, to: fixture.path),
                ]
                for answer in sent {
                    #expect(answer.json["mime"].string == expected, "\(claimed): \(answer.text)")
                    let fetched = try await fixture.bo.fetch(answer.json["data"].string)
                    let type = expected == "text/plain" ? "text/plain; charset=utf-8" : expected
                    #expect(fetched.headers[.contentType] == type)
                    #expect(fetched.headers[.xContentTypeOptions] == "nosniff")
                    #expect(fetched.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'none'") == true)
                    #expect(fetched.headers[.contentSecurityPolicy]?.hasSuffix("sandbox") == true)
                    let isShown = ["image/jpeg", "text/plain"].contains(expected)
                    let disposition = fetched.headers[.contentDisposition]
                    #expect(disposition?.hasPrefix(isShown ? "inline;" : "attachment;") == true)
                }
            }
        }
    }

    private static let names: [(given: String, name: String?, header: String)] = [
        ("../../etc/passwd", "passwd", #"filename="passwd""#),
        (#"C:\Users\bo\me.jpg"#, "me.jpg", #"filename="me.jpg""#),
        ("photo\u{202E}gpj.exe", "photogpj.exe", #"filename="photogpj.exe""#),
        ("a%22b%0D%0AX: 1.txt", "a\"bX: 1.txt", #"filename="a_bX: 1.txt"; filename*=UTF-8''a%22bX%3A%201.txt"#),
        ("ünï 🎈.png", "ünï 🎈.png", "filename=\"_n_ _.png\"; filename*=UTF-8''%C3%BCn%C3%AF%20%F0%9F%8E%88.png"),
        ("  ..hidden.. ", "hidden", #"filename="hidden""#),
        ("..", nil, #"filename="file""#), ("/", nil, #"filename="file""#), ("", nil, #"filename="file""#),
        ("\u{200F}\u{FEFF}", nil, #"filename="file""#),
        (
            String(repeating: "é", count: 300) + ".jpeg", String(repeating: "é", count: 125) + ".jpeg",
            "filename*=UTF-8''%C3"
        ),
    ]

    @Test("The file name of a form has precedence over the name in meta")
    func nameInMeta() async throws {
        try await withFiles { fixture in
            for (given, name) in [("photo.jpg", "photo.jpg"), ("", "from meta.pdf"), ("..", "from meta.pdf")] {
                var form = Form()
                form.add(file: [1], named: given)
                form.add("meta", #"{"name": "from meta.pdf"}"#)
                let answer = try await fixture.ana.upload(form.whole, as: Form.contentType, to: fixture.path)
                #expect(answer.json["file"]["name"].string == name, "\(answer.text)")
                #expect(answer.json["meta"]["name"].string == "from meta.pdf", "\(answer.text)")
            }
        }
    }

    @Test("A file name is sanitized")
    func fileNames() async throws {
        try await withFiles { fixture async throws in
            for (given, name, header) in Self.names {
                var form = Form()
                form.add(file: [1], named: given)
                let answer = try await fixture.bo.upload(form.whole, as: Form.contentType, to: fixture.path)
                #expect(answer.json["file"]["name"].string == name, "\(answer.text)")
                let disposition = try #require(
                    try await fixture.bo.fetch(answer.json["data"].string).headers[.contentDisposition]
                )
                #expect(disposition.contains(header), "\(disposition)")
                #expect(disposition.unicodeScalars.allSatisfy { (0x20..<0x7F) ~= $0.value })
            }
        }
    }

    @Test("The size limit applies to the declared length and to the received bytes")
    func sizeLimit() async throws {
        try await withFiles(settings: ["FILE_BYTES_MAX": "100000"]) { fixture in
            let most = [UInt8](repeating: 0, count: 100_000)
            #expect(try await fixture.bo.upload(most, to: fixture.path).status == 200)
            let (before, noted) = (fixture.files, try await fixture.noted())
            let announced = try await fixture.bo.upload(most + [0], to: fixture.path)
            var form = Form()
            form.add(file: most + [0], named: "a")
            let inForm = try await fixture.bo.upload(form.whole, as: Form.contentType, to: fixture.path)
            let source = ChunkedBody(count: 1_000, of: ByteBuffer(repeating: 0, count: 1_000))
            let inChunks = try await fixture.bo.upload(streaming: source, to: fixture.path)
            for answer in [announced, inForm, inChunks] {
                #expect(answer.status == 413, "\(answer.text)")
                #expect(answer.problem?.code == "file_too_large")
                #expect(answer.problem?.field == "file")
            }
            #expect(source.given.value == 101)
            #expect(fixture.files == before)
            #expect(try await fixture.noted() == noted)
        }
    }

    @Test("An upload keeps at most 128 KB in memory")
    func memory() async throws {
        try await withFiles { fixture async throws in
            let piece = 10_000
            let folder = fixture.folder
            let most = SharedValue(0)
            let source = ChunkedBody(count: 1_000, of: ByteBuffer(repeating: 1, count: piece)) { given in
                let incoming = "\(folder)/conversations/incoming"
                // Before the first byte there is no file, which is no error.
                guard let name = try? FileManager.default.contentsOfDirectory(atPath: incoming).first,
                    let size = try? FileManager.default.attributesOfItem(atPath: "\(incoming)/\(name)")[.size] as? Int
                else { return }
                most.change { $0 = max($0, given * piece - size) }
            }
            let answer = try await fixture.bo.upload(streaming: source, to: fixture.path)
            #expect(answer.json["file"]["size"].int == 10_000_000)
            #expect((1...131_072).contains(most.value), "\(most.value)")
        }
    }

    @Test("An incomplete body leaves no file and no message")
    func incompleteBody() async throws {
        try await withFiles { fixture async throws in
            let source = ChunkedBody(count: 100, of: ByteBuffer(repeating: 1, count: 10_000), thenFails: true)
            let broken = try await fixture.bo.upload(streaming: source, to: fixture.path)
            #expect(broken.status == 400)
            let short = try await fixture.bo.upload(
                [UInt8](repeating: 1, count: 10),
                to: fixture.path,
                headers: [.contentLength: "11"]
            )
            #expect(short.status == 400)
            #expect(short.problem?.code == "incomplete_body")
            var form = Form()
            form.add(file: Sample.jpeg, named: "a.jpg")
            let cut = try await fixture.bo.upload(form.bytes, as: Form.contentType, to: fixture.path)
            #expect(cut.status == 400)
            #expect(cut.problem?.code == "incomplete_body")
            try await fixture.expectNothing()
        }
    }
}
