import Foundation
import NIOCore
import NIOHPACK

/// A POST request, independent of the HTTP version.
struct OutgoingRequest: Sendable {
    /// HTTP/2's pseudo-header fields, then the others in lower case.
    private(set) var fields = HPACKHeaders()
    var body: ByteBuffer

    init(to origin: Origin, path: String, body: ByteBuffer) {
        self.body = body
        fields.reserveCapacity(14)
        fields.add(name: ":method", value: "POST")
        fields.add(name: ":scheme", value: origin.isSecure ? "https" : "http")
        fields.add(name: ":authority", value: origin.authority)
        // Each device has its own path; in HPACK's dynamic table it would evict fields that repeat.
        fields.add(name: ":path", value: path, indexing: .nonIndexable)
    }

    /// Adds a field whose value repeats in many requests.
    mutating func add(_ name: String, _ value: String) {
        fields.add(name: name, value: value)
    }

    /// Adds a field whose value differs in each request, so HPACK must not index it.
    mutating func add(unique name: String, _ value: String) {
        fields.add(name: name, value: value, indexing: .nonIndexable)
    }

    var path: String { fields.first(name: ":path") ?? "/" }
    var authority: String { fields.first(name: ":authority") ?? "" }
}

struct ProviderResponse: Sendable {
    var status: Int
    var fields: HPACKHeaders
    /// Truncated to ``PoolSettings/maximumBody``.
    var body: ByteBuffer

    subscript(field: String) -> String? { fields.first(name: field) }

    /// Returns `Retry-After`, in seconds or as a date (RFC 9110, section 10.2.3), limited to one day.
    func retryAfter(now: Date) -> Duration? {
        guard let value = self["retry-after"]?.trimmingCharacters(in: .whitespaces) else { return nil }
        guard let seconds = Double(value) ?? HTTPDate.parse(value)?.timeIntervalSince(now) else { return nil }
        return seconds.isFinite ? .seconds(min(max(seconds, 0), 86_400)) : nil
    }
}

enum TransportFailure: Error, Hashable, Sendable {
    /// No connection opened, so nothing was sent.
    case unreachable(String)
    /// The host's address is not allowed.
    case forbiddenAddress
    /// Too many requests wait, or no connection had capacity in time; nothing was sent.
    case notSent
    /// The request was sent, but no response arrived in time.
    case timedOut
    /// The connection or stream ended before the response, with the server's reason if there is one.
    case lost(String?)
    case cancelled
    case shutDown

    /// The reason in ``PushReply``.
    var reason: String {
        switch self {
        case .unreachable: "Unreachable"
        case .forbiddenAddress: "ForbiddenAddress"
        case .notSent: "NotSent"
        case .timedOut: "NoResponse"
        case .lost(let detail): detail.map { "ConnectionLost: \($0)" } ?? "ConnectionLost"
        case .cancelled: "Cancelled"
        case .shutDown: "ShutDown"
        }
    }

    var reply: PushReply { PushReply(self == .forbiddenAddress ? .refused : .providerBusy, reason: reason) }
}
