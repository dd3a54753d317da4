import Multipart
import NIOCore
import Testing

@Suite("Header field parameters") struct FieldParametersTests {
    @Test(
        "A parameter is found in quoted, unquoted and extended form",
        arguments: [
            ("form-data; name=\"a\"", "name", "a"),
            ("form-data; NAME=a ;x=y", "name", "a"),
            ("form-data;name=\"a;b=\\\"c\\\\\"", "name", "a;b=\"c\\"),
            ("form-data; name=f; filename=\"C:\\dir\\photo.jpg\"", "filename", "C:\\dir\\photo.jpg"),
            ("x; filename=\"a.txt\"; filename*=UTF-8''%e2%82%ac%20rates.txt", "filename", "€ rates.txt"),
            ("x; filename=\"a.txt\"; filename*=iso-8859-1''%e9", "filename", "a.txt"),
            ("multipart/form-data; boundary=----=_Part_1;", "boundary", "----=_Part_1"),
        ]
    )
    func validParameters(text: String, name: String, value: String) {
        #expect(FieldParameters(text)?[name] == value)
    }

    @Test(
        "A header field with malformed parameters is rejected",
        arguments: ["", ";", "; a=b", "x; a", "x; a=", "x; =b", "x; a=\"b", "x; a=b; A=c", "x y", "x; a=\"b\"c"]
    )
    func malformedParameters(text: String) {
        #expect(FieldParameters(text) == nil)
    }

    @Test("A reader may skip the rest of a part, and read a form byte by byte")
    func reader() async throws {
        let form =
            "--b\r\nContent-Disposition: form-data; name=a; filename=x\r\n\r\n12345\r\n"
            + "--b\r\nContent-Disposition: form-data; name=b\r\n\r\n67\r\n--b--"
        let (body, source) = AsyncStream<ByteBuffer>.makeStream()
        for byte in form.utf8 { source.yield(ByteBuffer(bytes: [byte])) }
        source.finish()
        var reader = MultipartReader(try #require(MultipartParser(boundary: "b")), body)
        #expect(try await reader.nextPart()?.name == "a")
        #expect(try await reader.nextContent() == ByteBuffer(string: "1"))
        #expect(try await reader.nextPart()?.name == "b")
        var rest = ByteBuffer()
        while let bytes = try await reader.nextContent() { rest.writeImmutableBuffer(bytes) }
        #expect(rest == ByteBuffer(string: "67"))
        #expect(try await reader.nextPart() == nil)
        #expect(try await reader.nextContent() == nil)
    }
}
