/// Whose push service reaches a device.
package enum PushPlatform: String, CaseIterable, Sendable {
    case gcm
    case iosSandbox = "ios_sandbox"
    case iosProduction = "ios_production"

    /// How long a token of any of them may be, in bytes.
    package static let maximumToken = 4_096

    /// All of them, for people.
    package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}
