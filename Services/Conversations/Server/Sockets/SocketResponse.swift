import ConversationsAPI
import Foundation
import NIOCore
import SocketIO
import Wire

/// The response to a request: `{code: 200}` with the object's own keys beside it, or `{code, codeName, error}`.
struct SocketResponse: Sendable {
    let code: Int
    let json: ByteBuffer

    /// - Parameter object: the JSON of an object without a `code`.
    init(object: ByteBuffer) {
        var object = object
        code = SocketCode.done
        var json = ByteBuffer()
        json.reserveCapacity(object.readableBytes + 16)
        json.writeStaticString("{\"code\":200")
        object.moveReaderIndex(forwardBy: 1)
        if object.readableBytes > 1 { json.writeStaticString(",") }
        json.writeBuffer(&object)
        self.json = json
    }

    init(_ value: some Encodable) throws {
        self.init(object: ByteBuffer(bytes: try WireJSON.encoder().encode(value)))
    }

    init(_ message: Message) throws {
        self.init(object: try MessageResponse(message).body())
    }

    init(list messages: [Message]) throws {
        self.init(object: try MessageResponse(list: messages).body())
    }

    init(_ error: APIError) {
        code = SocketCode.of(error)
        var fields: [String: JSONValue] = [
            "code": .integer(Int64(code)), "codeName": .string(error.code), "error": .string(error.message),
        ]
        if let field = error.field { fields["field"] = .string(field) }
        if !error.errors.isEmpty {
            fields["errors"] = .array(
                error.errors.map {
                    .object(["field": .string($0.field), "code": .string($0.code), "detail": .string($0.detail)])
                }
            )
        }
        // Text and numbers always encode.
        json = ByteBuffer(bytes: (try? JSONValue.object(fields).compact()) ?? Data(#"{"code":499}"#.utf8))
    }

    static let done = SocketResponse(object: ByteBuffer(string: "{}"))

    var arguments: SocketArguments { SocketArguments(json: json) }
}
