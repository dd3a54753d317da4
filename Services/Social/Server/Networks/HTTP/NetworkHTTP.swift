import Foundation
import HTTPTypes
import NIOCore

/// How connectors ask networks: HTTP to the hosts they are meant for, and to no other.
///
/// There is one for each connector. What it may reach is decided where it is made: a network's own base URLs from the
/// settings, or, for networks of many places, any public host over https, which is checked on the address connected to.
/// Redirects are not followed; bodies are read as they are, never unpacked.
protocol NetworkHTTP: Sendable {
    /// The whole answer, whatever its status.
    ///
    /// - Throws: `NetworkHTTPFailure`, or `CancellationError`.
    func send(_ request: NetworkRequest) async throws -> NetworkResponse

    /// The answer's head and its body piece by piece, for streams; the deadline is for the head alone.
    func open(_ request: NetworkRequest) async throws -> NetworkStream

    /// Whether a URL leads to where this may ask at all; for next-page URLs, before they go into a cursor and after.
    func mayConnect(_ url: String) -> Bool
}

struct NetworkRequest: Sendable {
    var method: HTTPRequest.Method
    /// Absolute, percent-encoded; its query may hold tokens, so it is never logged.
    var url: String
    var headers: HTTPFields
    var body: ByteBuffer?
    /// From now to the end of the answer; nil is 10 s, or 60 s with a body of over 1 MB.
    ///
    /// A task that is cancelled ends it in any case.
    var timeout: Duration?
    /// How much of an answer is read, in bytes, before it is `tooLarge`; 1 MiB at most from a host that a user chose.
    var maximumBody = 4_194_304

    init(_ method: HTTPRequest.Method, _ url: String, headers: HTTPFields = [:], body: ByteBuffer? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

struct NetworkResponse: Sendable {
    var status: Int
    var headers: HTTPFields
    var body: ByteBuffer
}

struct NetworkStream: Sendable {
    var status: Int
    var headers: HTTPFields
    var body: PulledSequence<ByteBuffer>
}

/// Why there is no whole answer.
enum NetworkHTTPFailure: Error, Hashable, Sendable {
    /// Nothing was sent: no connection, no such name, a host that must not be asked.
    case notSent(String)
    /// It was sent, or may have been, and no whole answer came in time.
    case noAnswer(String)
    /// The answer is longer than `maximumBody`.
    case tooLarge

    func error(isWrite: Bool) -> NetworkError {
        switch self {
        case .notSent(let why): NetworkError(.transient, "the network cannot be reached: \(why)")
        case .noAnswer(let why): NetworkError(isWrite ? .unknownOutcome : .transient, why)
        case .tooLarge: NetworkError(isWrite ? .unknownOutcome : .transient, "the network's answer is too large")
        }
    }
}
