import Foundation
import Wire

/// An answer over Socket.IO: `{code: 200, …}`, or `{code, error}`.
enum ChatResponse {
    private struct Code: Decodable {
        let code: Int
        let error: String?
    }

    /// - Throws: `ChatError`.
    static func decode<Response: Decodable>(
        _ arguments: [Data],
        as type: Response.Type = Response.self
    ) throws -> Response {
        guard let json = arguments.first else {
            throw ChatError(code: 499, message: "an answer without anything in it")
        }
        let code = try WireJSON.decoder().decode(Code.self, from: json)
        guard code.code == 200 else { throw ChatError(code: code.code, message: code.error ?? "no reason given") }
        return try WireJSON.decoder().decode(Response.self, from: json)
    }
}

/// Why the server did not do what it was asked.
struct ChatError: Error, CustomStringConvertible {
    let code: Int
    let message: String

    init(code: Int, message: String) {
        self.code = code
        self.message = message
    }

    /// - Parameter data: of a connection that was refused.
    init(_ data: Data?) {
        struct Payload: Decodable {
            let code: Int
            let error: String?
        }
        // Silence: what says no code has none.
        let payload = data.flatMap { try? JSONDecoder().decode(Payload.self, from: $0) }
        self.init(code: payload?.code ?? 0, message: payload?.error ?? "")
    }

    /// Whether another token may be taken.
    var isTokenError: Bool { code == 403 || code == 498 }
    /// Whether the same may be done later.
    var isRetryable: Bool { code == 429 || code == 499 }

    var description: String { "\(PlainText.of(message)) (\(code))" }
}
