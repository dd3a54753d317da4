package enum PushPlatform: String, CaseIterable, Sendable {
    case gcm
    case iosSandbox = "ios_sandbox"
    case iosProduction = "ios_production"

    /// The longest push token of any platform, in bytes.
    package static let maximumToken = 4_096

    package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}
