import Foundation
import NIOCore
import NIOHPACK

/// A POST, as far as it is the same for all versions of HTTP.
struct OutgoingRequest: Sendable {
    /// HTTP/2's pseudo-fields, then the others with names in lower case.
    private(set) var fields = HPACKHeaders()
    var body: ByteBuffer

    init(to origin: Origin, path: String, body: ByteBuffer) {
        self.body = body
        fields.reserveCapacity(14)
        fields.add(name: ":method", value: "POST")
        fields.add(name: ":scheme", value: origin.isSecure ? "https" : "http")
        fields.add(name: ":authority", value: origin.authority)
        // Each device has a path of its own: in the table of fields that come again, it would push those out that do.
        fields.add(name: ":path", value: path, indexing: .nonIndexable)
    }

    /// Adds a field that many requests have in common.
    mutating func add(_ name: String, _ value: String) {
        fields.add(name: name, value: value)
    }

    /// Adds a field that is another in each request.
    mutating func add(unique name: String, _ value: String) {
        fields.add(name: name, value: value, indexing: .nonIndexable)
    }

    var path: String { fields.first(name: ":path") ?? "/" }
    var authority: String { fields.first(name: ":authority") ?? "" }
}

/// What came back, as much of it as is of interest.
struct ProviderResponse: Sendable {
    var status: Int
    var fields: HPACKHeaders
    /// Cut off at ``PoolSettings/maximumBody``.
    var body: ByteBuffer

    subscript(field: String) -> String? { fields.first(name: field) }

    /// `Retry-After` in seconds, or until a date (RFC 9110, section 10.2.3); a day at most.
    func retryAfter(now: Date) -> Duration? {
        guard let value = self["retry-after"]?.trimmingCharacters(in: .whitespaces) else { return nil }
        guard let seconds = Double(value) ?? HTTPDate.parse(value)?.timeIntervalSince(now) else { return nil }
        return seconds.isFinite ? .seconds(min(max(seconds, 0), 86_400)) : nil
    }
}

/// Why there was no answer.
enum TransportFailure: Error, Hashable, Sendable {
    /// No connection could be made, so nothing was sent.
    case unreachable(String)
    /// The address found is not one that may be connected to.
    case forbiddenAddress
    /// Too much waits already, or no connection had room in time: nothing was sent.
    case notSent
    /// It was sent, and nothing was heard in time.
    case timedOut
    /// The connection or the stream ended before the answer; what the other side said to that, if anything.
    case lost(String?)
    case cancelled
    case shutDown

    /// How a reply calls it.
    var reason: String {
        switch self {
        case .unreachable: "Unreachable"
        case .forbiddenAddress: "ForbiddenAddress"
        case .notSent: "NotSent"
        case .timedOut: "NoResponse"
        case .lost(let word): word.map { "ConnectionLost: \($0)" } ?? "ConnectionLost"
        case .cancelled: "Cancelled"
        case .shutDown: "ShutDown"
        }
    }

    var reply: PushReply { PushReply(self == .forbiddenAddress ? .refused : .providerBusy, reason: reason) }
}
