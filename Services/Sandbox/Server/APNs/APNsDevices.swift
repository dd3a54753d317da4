import Locks
import Wire

/// Which of Apple's two APNs a device token is for.
package enum AppleEnvironment: String, Codable, Sendable {
    /// `api.push.apple.com`: apps from the store.
    case production
    /// `api.sandbox.push.apple.com`: apps that a developer has installed.
    case sandbox
}

/// What is known of device tokens; one that nobody has told of is good everywhere.
package final class APNsDevices: Sendable {
    struct Device: Sendable {
        var environment: AppleEnvironment?
        var topic: String?
    }

    private static let limit = 200_000
    /// Hex digits of a token: 32 bytes are usual, and Apple warns that there may be more.
    private static let lengths = 64...200

    private let known = Lock<[String: Device]>([:])

    init() {}

    /// Says for which environment, and which app, a token was given.
    package func pin(_ token: String, environment: AppleEnvironment? = nil, topic: String? = nil) throws {
        guard Self.isToken(token) else {
            throw APIError.invalid("token", "a device token is an even number of 64 to 200 hex digits")
        }
        try known.withLock { known in
            guard known.count < Self.limit || known[token.lowercased()] != nil else {
                throw APIError(.conflict, "too_many_devices", "there are \(Self.limit) devices already")
            }
            known[token.lowercased()] = Device(environment: environment, topic: topic)
        }
    }

    package func clear() {
        known.withLock { $0 = [:] }
    }

    /// What is known of a token; nil of most.
    func device(_ token: String) -> Device? {
        known.withLock { $0.isEmpty ? nil : $0[token.lowercased()] }
    }

    static func isToken(_ token: String) -> Bool {
        lengths.contains(token.utf8.count) && token.utf8.count.isMultiple(of: 2)
            && token.utf8.allSatisfy(\.isHexDigit)
    }
}

extension UInt8 {
    /// Whether it is a hex digit in ASCII, of either case.
    var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
