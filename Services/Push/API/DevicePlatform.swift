/// How a device is reached.
package enum DevicePlatform: String, Codable, CaseIterable, Sendable {
    /// Apple's push service, for builds of developers.
    case iosSandbox = "ios_sandbox"
    /// The same, for what comes from the store.
    case iosProduction = "ios_production"
    /// Any token of Firebase Cloud Messaging, one of an iPhone's too.
    case gcm
    /// A browser's subscription (Web Push).
    case web

    /// All of them, for people.
    package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}
