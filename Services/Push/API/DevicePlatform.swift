package enum DevicePlatform: String, Codable, CaseIterable, Sendable {
    /// APNs sandbox, for development builds.
    case iosSandbox = "ios_sandbox"
    /// APNs production, for builds from TestFlight and the App Store.
    case iosProduction = "ios_production"
    /// Firebase Cloud Messaging, also for iPhones.
    case gcm
    case web

    package static let names = allCases.map(\.rawValue).joined(separator: ", ")
}
