import Foundation
import HTTPTypes
import NIOCore

/// The HTTP client of a connector, which only reaches the hosts of its network.
///
/// Its creator decides which hosts it may reach. For most networks these are the base URLs in the settings. For
/// networks with many servers it is any public host over https, and the address is checked when connecting. Redirects
/// are not followed, and bodies are not decompressed.
protocol NetworkHTTP: Sendable {
    /// Returns the whole response, whatever its status.
    ///
    /// - Throws: `NetworkHTTPFailure`, or `CancellationError`.
    func send(_ request: NetworkRequest) async throws -> NetworkResponse

    /// Returns the head of the response, and its body piece by piece for streams; the timeout only covers the head.
    func open(_ request: NetworkRequest) async throws -> NetworkStream

    /// Returns whether a URL may be requested; next-page URLs are checked before they go into a cursor and after.
    func mayConnect(_ url: String) -> Bool
}

struct NetworkRequest: Sendable {
    var method: HTTPRequest.Method
    /// The absolute URL, percent-encoded.
    ///
    /// Its query may contain tokens, so it is never logged.
    var url: String
    var headers: HTTPFields
    var body: ByteBuffer?
    /// The time until the end of the response; nil is 10 s, or 60 s with a body of over 1 MB.
    ///
    /// Cancelling the task ends the request in any case.
    var timeout: Duration?
    /// The maximum size of a response in bytes, above which it is `tooLarge`; at most 1 MiB from a host that a user
    /// named.
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

/// The reason why there is no complete response.
enum NetworkHTTPFailure: Error, Hashable, Sendable {
    /// Nothing was sent: no connection, an unknown host, or a host that must not be called.
    case notSent(String)
    /// The request was sent, or may have been, and no complete response arrived in time.
    case noAnswer(String)
    /// The response is longer than `maximumBody`.
    case tooLarge

    func error(isWrite: Bool) -> NetworkError {
        switch self {
        case .notSent(let why): NetworkError(.transient, "the network cannot be reached: \(why)")
        case .noAnswer(let why): NetworkError(isWrite ? .unknownOutcome : .transient, why)
        case .tooLarge: NetworkError(isWrite ? .unknownOutcome : .transient, "the network's response is too large")
        }
    }
}
