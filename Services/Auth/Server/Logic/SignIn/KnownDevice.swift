import AuthAPI
import Crypto
import Foundation
import ServiceHost
import Wire

/// How a login shows that its device has signed in to the account before.
enum KnownDevice: Sendable {
    /// By a token that the server issued at a sign-in. Only that device has it.
    case token(Data)
    /// By its `deviceId` and the network that it has signed in from. Others in that network may know the `deviceId`.
    case network(Data)

    /// Devices of an account that are remembered; the ones that signed in longest ago are forgotten first.
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

/// The secret that a device is recognised by: 256 random bits, of which the database has the hash.
struct DeviceToken: Sendable {
    let text: String

    private init(text: String) {
        self.text = text
    }

    static func random() -> DeviceToken { DeviceToken(text: Base64URL.random(bytes: 32)) }

    /// Nil for text that the server cannot have issued.
    init?(_ text: String) {
        guard text.utf8.count == 43, Base64URL.decode(text) != nil else { return nil }
        self.text = text
    }

    var hash: Data { Data(SHA256.hash(data: Data("device token:\(text)".utf8))) }
}

extension DeviceID {
    /// The hash of the device in the network of an address.
    func hash(at address: IPAddress?) -> Data {
        Data(SHA256.hash(data: Data("device:\(text)\0".utf8) + (address?.network ?? Data())))
    }
}
