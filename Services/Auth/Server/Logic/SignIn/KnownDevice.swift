import AuthAPI
import Crypto
import Foundation
import ServiceHost
import Wire

/// The evidence in a login that its device has signed in to the account before.
enum KnownDevice: Sendable {
    /// A device token that the server issued at an earlier sign-in; only the device has it.
    case token(Data)
    /// The `deviceId` in a network where it signed in before.
    ///
    /// Other clients in that network may know the `deviceId`.
    case network(Data)

    /// The most known devices of an account; those with the oldest sign-in are deleted first.
    static let maximum = 64

    var hash: Data {
        switch self {
        case .token(let hash), .network(let hash): hash
        }
    }

    var isToken: Bool {
        switch self {
        case .token: true
        case .network: false
        }
    }
}

/// The secret that identifies a device: 256 random bits, of which only the hash is stored.
struct DeviceToken: Sendable {
    let text: String

    private init(text: String) {
        self.text = text
    }

    static func random() -> DeviceToken { DeviceToken(text: Base64URL.random(bytes: 32)) }

    /// Returns nil for text that the server cannot have issued.
    init?(_ text: String) {
        guard text.utf8.count == 43, Base64URL.decode(text) != nil else { return nil }
        self.text = text
    }

    var hash: Data { Data(SHA256.hash(data: Data("device token:\(text)".utf8))) }
}

extension DeviceID {
    /// Returns the hash of the device id and the address's network.
    func hash(at address: IPAddress?) -> Data {
        Data(SHA256.hash(data: Data("device:\(text)\0".utf8) + (address?.network ?? Data())))
    }
}
