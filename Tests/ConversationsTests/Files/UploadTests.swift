import ConversationsAPI
import Foundation
import HTTPTypes
import NIOCore
import TestSupport
import Testing
import Wire

/// Files that are sent as a form, as a raw body and as Base64.
@Suite("Uploads") struct UploadTests {
    @Test("A form with a file makes a message with a link")
    func form() async throws {
        try await withFiles { fixture async throws in
            var form = Form()
            form.add("meta", #"{"album": 7}"#)
            form.add("clientMessageId", "c-1")
            form.add("pushMessage", "a photo")
            form.add(file: Sample.jpeg, named: "Ferien am Meer – 海.jpg", type: "text/html")
            form.add("badge", "3")
            form.add("mime", "text/html")
            let answer = try await fixture.bo.upload(form.whole, as: Form.contentType, to: fixture.path)

            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["mime"].string == "image/jpeg")
            #expect(answer.json["encoding"].string == "url")
            #expect(
                answer.json["file"] == .object(["name": .string("Ferien am Meer – 海.jpg"), "size": .integer(2_010)])
            )
            #expect(answer.json["meta"]["album"].int == 7)
            #expect(answer.json["clientMessageId"].string == "c-1")
            #expect(fixture.files.count == 1)
            let link = answer.json["data"].string
            #expect(link?.hasPrefix("http://127.0.0.1:8080/media/conversations/") == true)
            let fetched = try await fixture.eve.fetch(link)
            #expect(fetched.status == 200)
            #expect(fetched.body == Data(Sample.jpeg))
        }
    }

    @Test("An upload as raw body takes its fields from the query")
    func rawBody() async throws {
        try await withFiles { fixture async throws in
            let query = "?clientMessageId=c%201&meta=%7B%22a%22%3Atrue%7D&name=a%2Fb.jpg"
            let answer = try await fixture.bo.upload(Sample.jpeg, as: "image/png", to: fixture.path + query)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["mime"].string == "image/jpeg")
            #expect(answer.json["file"]["name"].string == "b.jpg")
            #expect(answer.json["clientMessageId"].string == "c 1")
            #expect(answer.json["meta"]["a"].bool == true)

            let named = try await fixture.bo.upload(
                Sample.jpeg,
                as: "image/jpeg",
                to: fixture.path,
                headers: [.contentDisposition: #"attachment; filename="photo.jpg""#]
            )
            #expect(named.json["file"]["name"].string == "photo.jpg")
            let unnamed = try await fixture.bo.upload(Sample.jpeg, as: "image/jpeg", to: fixture.path)
            #expect(unnamed.json["file"]["name"] == .null)
        }
    }

    @Test("A Base64 text makes a file message")
    func base64() async throws {
        try await withFiles { fixture async throws in
            let lines = Data(Sample.jpeg).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])
            let text = lines.replacing("/", with: "\\/").replacing("\n", with: "\\n")
            let answer = try await fixture.bo.ask(
                .post,
                fixture.path,
                #"{"data": "\#(text)", "encoding": "base64", "mime": "image/png", "clientMessageId": "c-1"}"#
            )
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["mime"].string == "image/jpeg")
            #expect(answer.json["encoding"].string == "url")
            #expect(try await fixture.ana.fetch(answer.json["data"].string).body == Data(Sample.jpeg))
        }
    }

    @Test("A Base64 file has at most 5 MB and must be valid")
    func base64Limit() async throws {
        try await withFiles { fixture async throws in
            let most = Data(count: 5_242_880).base64EncodedString()
            let draft = { (data: String) in #"{"encoding": "base64", "data": "\#(data)"}"# }
            let taken = try await fixture.bo.ask(.post, fixture.path, draft(most))
            #expect(taken.status == 200, "\(taken.text.prefix(200))")
            #expect(taken.json["file"]["size"].int == 5_242_880)
            let refused = try await fixture.bo.ask(
                .post,
                fixture.path,
                draft(Data(count: 5_242_881).base64EncodedString())
            )
            #expect(refused.status == 413)
            #expect(refused.problem?.field == "data")
            let huge = try await fixture.bo.ask(.post, fixture.path, draft(String(repeating: "A", count: 9_000_000)))
            #expect(huge.status == 413)
            #expect(fixture.files.count == 1)
            for text in ["", "?", "AAA", "AAAA=", "data:image/png;base64,AAAA"] {
                let answer = try await fixture.bo.ask(.post, fixture.path, draft(text))
                #expect(answer.status == 400, "\(text)")
                #expect(answer.problem?.field == "data")
            }
            let text = try await fixture.bo.ask(
                .post,
                fixture.path,
                #"{"data": "\#(String(repeating: "A", count: 70_000))"}"#
            )
            #expect(text.status == 413)
        }
    }

    private static let file = ("name=\"file\"; filename=\"a\"", "1")
    private static let invalidParts: [(field: String, parts: [(String, String)])] = [
        ("file", [("name=meta", "{}")]),
        ("file", [("name=file; filename=empty", "")]),
        ("file", [file, file]),
        ("meta", [file, ("name=meta", "{")]),
        ("meta", [file, ("name=meta", "[]")]),
        ("meta", [file, ("name=meta", "{}"), ("name=meta", "{}")]),
        ("badge", [file, ("name=badge", "many")]),
        ("clientMessageId", [file, ("name=clientMessageId", "a\0b")]),
        ("clientMessageId", [("name=clientMessageId", String(repeating: "x", count: 256)), file]),
        ("encoding", [file, ("name=encoding", "base64")]),
        ("mime", [file, ("name=mime", "nothing")]),
        ("mime", [file, ("name=mime", "application/diuit-chat-sys-message")]),
    ]

    @Test("An invalid field of a form is rejected by name", arguments: invalidParts.indices)
    func formErrors(number: Int) async throws {
        try await withFiles { fixture async throws in
            var form = Form()
            for (parameters, content) in Self.invalidParts[number].parts { form.add(parameters, Array(content.utf8)) }
            let answer = try await fixture.bo.upload(form.whole, as: Form.contentType, to: fixture.path)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.problem?.field == Self.invalidParts[number].field)
            try await fixture.expectNothing()
        }
    }

    @Test("A malformed form or an unsupported content type is rejected")
    func invalidForms() async throws {
        try await withFiles { fixture async throws in
            var many = Form()
            for number in 0..<100_000 { many.add("f\(number)", "1") }
            var large = Form()
            large.add("pushMessage", String(repeating: "x", count: 140_000))
            var huge = Form()
            huge.add("name=\"file\"; filename=\"\(String(repeating: "x", count: 10_000))\"", [1])
            let bodies: [(Int, [UInt8])] = [
                (400, many.whole), (413, large.whole), (400, huge.whole), (400, []), (400, Array("no form".utf8)),
            ]
            for (status, body) in bodies {
                let answer = try await fixture.bo.upload(body, as: Form.contentType, to: fixture.path)
                #expect(answer.status == status, "\(answer.text)")
            }
            let types = [
                ("multipart/form-data", 400), ("multipart/form-data; boundary=\"\"", 400), ("multipart/mixed", 415),
                ("application/x-www-form-urlencoded", 415), ("nothing", 415), ("a/b; c", 415),
            ]
            for (type, status) in types {
                #expect(try await fixture.bo.upload([1], as: type, to: fixture.path).status == status, "\(type)")
            }
            let packed = try await fixture.bo.upload([1], to: fixture.path, headers: [.contentEncoding: "gzip"])
            #expect(packed.status == 415)
            #expect(try await fixture.bo.upload([], as: "image/png", to: fixture.path).problem?.field == "file")
            try await fixture.expectNothing()
        }
    }
}
