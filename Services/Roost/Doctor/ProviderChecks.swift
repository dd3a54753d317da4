struct ProviderChecks: Sendable {
    private static let appleSettings = ["APNS_KEY", "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_TOPIC"]
    private static let source = "see \"Push\" in docs/operations.md"

    let settings: SuiteSettings

    func findings() -> [Finding] {
        // A malformed SANDBOX is ignored, because the checks of the instances report it.
        let usesSandbox = (try? settings.usesSandbox) ?? false
        return usesSandbox && !isSet("APNS_KEY") && !isSet("FCM_SERVICE_ACCOUNT")
            ? [.ok("the sandbox replaces Apple and Google: no real phone is notified")] : [apple(), google()]
    }

    private func apple() -> Finding {
        let missing = Self.appleSettings.filter { !isSet($0) }
        guard let first = missing.first else {
            return .ok("iPhones are notified with the topic \(settings.given["APNS_TOPIC"] ?? "")")
        }
        guard missing.count < Self.appleSettings.count else {
            return .warning("iPhones are not notified: APNS_KEY is not set", Self.source)
        }
        return .failure("\(first) is not set, but other Apple settings are", "set all four or none")
    }

    private func google() -> Finding {
        isSet("FCM_SERVICE_ACCOUNT")
            ? .ok("Android devices are notified: FCM_SERVICE_ACCOUNT is set")
            : .warning("Android devices are not notified: FCM_SERVICE_ACCOUNT is not set", Self.source)
    }

    private func isSet(_ name: String) -> Bool { settings.given[name]?.isEmpty == false }
}
