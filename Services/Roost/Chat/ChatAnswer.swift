import Foundation
import Wire

/// An answer over Socket.IO: `{code: 200, …}`, or `{code, error}`.
enum ChatAnswer {
    private struct Code: Decodable {
        let code: Int
        let error: String?
    }

    /// - Throws: `ChatRefusal`.
    static func decode<Answer: Decodable>(_ arguments: [Data], as type: Answer.Type = Answer.self) throws -> Answer {
        guard let json = arguments.first else {
            throw ChatRefusal(code: 499, message: "an answer without anything in it")
        }
        let code = try WireJSON.decoder().decode(Code.self, from: json)
        guard code.code == 200 else { throw ChatRefusal(code: code.code, message: code.error ?? "no reason given") }
        return try WireJSON.decoder().decode(Answer.self, from: json)
    }
}

/// Why the server did not do what it was asked.
struct ChatRefusal: Error, CustomStringConvertible {
    let code: Int
    let message: String

    init(code: Int, message: String) {
        self.code = code
        self.message = message
    }

    /// - Parameter data: of a connection that was refused.
    init(_ data: Data?) {
        struct Said: Decodable {
            let code: Int
            let error: String?
        }
        // Silence: what says no code has none.
        let said = data.flatMap { try? JSONDecoder().decode(Said.self, from: $0) }
        self.init(code: said?.code ?? 0, message: said?.error ?? "")
    }

    /// Whether another token may be taken.
    var isOfToken: Bool { code == 403 || code == 498 }
    /// Whether the same may be done later.
    var isForNow: Bool { code == 429 || code == 499 }

    var description: String { "\(PlainText.of(message)) (\(code))" }
}
