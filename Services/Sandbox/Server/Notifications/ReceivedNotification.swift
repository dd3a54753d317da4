package import Foundation
package import Wire

/// A notification that a simulated push service accepted.
package struct ReceivedNotification: Sendable {
    /// The number in the order of arrival, from 1.
    package let number: Int
    package let service: SandboxService
    /// The APNs environment; nil for other services.
    package let environment: AppleEnvironment?
    /// The device token, or the subscription's id.
    package let device: String
    /// The notification's id, which identifies a repetition.
    package let id: String
    /// How often the notification has arrived for this device, including this time.
    package let copies: Int
    package let acceptedAt: Date
    /// The header fields that control delivery.
    package let fields: [(name: String, value: String)]
    /// The payload as received, or as the browser decrypts it.
    package let payload: [UInt8]

    /// The payload as JSON, or as a string when it is not JSON.
    package var content: JSONValue {
        // A push to a browser may be any bytes, which have no fields to show.
        (try? JSONParser.parse(payload)) ?? .string(String(decoding: payload, as: UTF8.self))
    }
}

/// A notification that a simulated push service passes to the log of received notifications.
struct IncomingNotification {
    let service: SandboxService
    var environment: AppleEnvironment?
    let device: String
    let id: String
    var fields: [(name: String, value: String)] = []
    let payload: [UInt8]
}
