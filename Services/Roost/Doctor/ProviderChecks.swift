/// Whether push could reach those whom it is to notify.
struct ProviderChecks: Sendable {
    private static let appleSettings = ["APNS_KEY", "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_TOPIC"]
    private static let source = "docs/operations.md, \"Push\", says where it comes from"

    let settings: SuiteSettings

    func findings() -> [Finding] {
        // Silence: what SANDBOX must be is said where the instances are looked at.
        let usesSandbox = (try? settings.usesSandbox) ?? false
        return usesSandbox && !isSet("APNS_KEY") && !isSet("FCM_SERVICE_ACCOUNT")
            ? [.ok("the sandbox stands in for Apple and Google: nobody's phone is reached")] : [apple(), google()]
    }

    private func apple() -> Finding {
        let missing = Self.appleSettings.filter { !isSet($0) }
        guard let first = missing.first else {
            return .ok("iPhones are notified as \(settings.given["APNS_TOPIC"] ?? "")")
        }
        guard missing.count < Self.appleSettings.count else {
            return .warning("iPhones are not notified: APNS_KEY is not set", Self.source)
        }
        return .failure("\(first) is not set, and others of Apple's are", "set all four, or none of them")
    }

    private func google() -> Finding {
        isSet("FCM_SERVICE_ACCOUNT")
            ? .ok("Android devices are notified: FCM_SERVICE_ACCOUNT is set")
            : .warning("Android devices are not notified: FCM_SERVICE_ACCOUNT is not set", Self.source)
    }

    private func isSet(_ name: String) -> Bool { settings.given[name]?.isEmpty == false }
}
