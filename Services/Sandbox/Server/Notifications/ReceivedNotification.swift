package import Foundation
package import Wire

/// A notification that one of the services has taken.
package struct ReceivedNotification: Sendable {
    /// Counts from 1, in the order in which they came.
    package let number: Int
    package let service: SandboxService
    /// Of APNs: `production` or `sandbox`.
    package let environment: AppleEnvironment?
    /// The device token, or the subscription's id.
    package let device: String
    /// By which the same notification is known when it comes again.
    package let id: String
    /// How often it has come to this device by now, this time counted.
    package let copies: Int
    package let acceptedAt: Date
    /// The header fields that say how to deliver it.
    package let fields: [(name: String, value: String)]
    /// The payload as it came, or what a browser would have decrypted of it.
    package let payload: [UInt8]

    /// The payload read as JSON; as a string where it is none.
    package var content: JSONValue {
        // A push to a browser may be any bytes: then there are no fields to show.
        (try? JSONParser.parse(payload)) ?? .string(String(decoding: payload, as: UTF8.self))
    }
}

/// What a service hands over of what it has taken.
struct IncomingNotification {
    let service: SandboxService
    var environment: AppleEnvironment?
    let device: String
    let id: String
    var fields: [(name: String, value: String)] = []
    let payload: [UInt8]
}
