import Foundation
import Wire

/// A response over Socket.IO: `{code: 200, …}` or `{code, error}`.
enum ChatResponse {
    private struct Code: Decodable {
        let code: Int
        let error: String?
    }

    /// Decodes the first argument of a response.
    ///
    /// - Throws: `ChatError` when there is none, or when its code is not 200.
    static func decode<Response: Decodable>(
        _ arguments: [Data],
        as type: Response.Type = Response.self
    ) throws -> Response {
        guard let json = arguments.first else {
            throw ChatError(code: 499, message: "the response is empty")
        }
        let code = try WireJSON.decoder().decode(Code.self, from: json)
        guard code.code == 200 else { throw ChatError(code: code.code, message: code.error ?? "no reason given") }
        return try WireJSON.decoder().decode(Response.self, from: json)
    }
}

struct ChatError: Error, CustomStringConvertible {
    let code: Int
    let message: String

    init(code: Int, message: String) {
        self.code = code
        self.message = message
    }

    /// Creates the error of a rejected connection.
    ///
    /// - Parameter data: the payload of the rejection.
    init(_ data: Data?) {
        struct Payload: Decodable {
            let code: Int
            let error: String?
        }
        // A payload without a code has the code 0.
        let payload = data.flatMap { try? JSONDecoder().decode(Payload.self, from: $0) }
        self.init(code: payload?.code ?? 0, message: payload?.error ?? "")
    }

    /// Whether a new token may help.
    var isTokenError: Bool { code == 403 || code == 498 }
    /// Whether a later attempt may succeed.
    var isRetryable: Bool { code == 429 || code == 499 }

    var description: String { "\(PlainText.of(message)) (\(code))" }
}
