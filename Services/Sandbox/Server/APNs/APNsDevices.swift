import Locks
import Wire

package enum AppleEnvironment: String, Codable, Sendable {
    /// `api.push.apple.com`: for apps from the App Store.
    case production
    /// `api.sandbox.push.apple.com`: for development builds, which a developer installs directly on a device.
    case sandbox
}

/// The device tokens that tests have restricted to an environment or an app.
///
/// A token without a restriction is valid in both environments and for any app.
package final class APNsDevices: Sendable {
    struct Device: Sendable {
        var environment: AppleEnvironment?
        var topic: String?
    }

    private static let limit = 200_000
    /// The permitted lengths of a token in hex digits.
    ///
    /// Tokens usually have 32 bytes, which are 64 digits. Apple's documentation says that tokens may become longer.
    private static let lengths = 64...200

    private let pins = Lock<[String: Device]>([:])

    init() {}

    /// Restricts a token to one environment, one app, or both.
    package func pin(_ token: String, environment: AppleEnvironment? = nil, topic: String? = nil) throws {
        guard Self.isToken(token) else {
            throw APIError.invalid("token", "a device token has 64 to 200 hex digits, and an even number of them")
        }
        try pins.withLock { pins in
            guard pins.count < Self.limit || pins[token.lowercased()] != nil else {
                throw APIError(.conflict, "too_many_devices", "the limit of \(Self.limit) pinned devices is reached")
            }
            pins[token.lowercased()] = Device(environment: environment, topic: topic)
        }
    }

    package func clear() {
        pins.withLock { $0 = [:] }
    }

    func device(_ token: String) -> Device? {
        pins.withLock { $0.isEmpty ? nil : $0[token.lowercased()] }
    }

    static func isToken(_ token: String) -> Bool {
        lengths.contains(token.utf8.count) && token.utf8.count.isMultiple(of: 2)
            && token.utf8.allSatisfy(\.isHexDigit)
    }
}

extension UInt8 {
    var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
