import ChildProcesses

extension SuiteSettings {
    /// Whether the sandbox runs: as `SANDBOX` says; by default, when no key for real push providers is set.
    var usesSandbox: Bool {
        get throws {
            switch given["SANDBOX"].flatMap({ $0.isEmpty ? nil : $0 }) {
            case "1": return true
            case "0": return false
            case nil: return ["APNS_KEY", "FCM_SERVICE_ACCOUNT"].allSatisfy { (given[$0] ?? "").isEmpty }
            case let other?: throw Workspace.Problem("SANDBOX is \"\(other)\"; it must be 1 or 0")
            }
        }
    }

    /// Returns the ports of the sandbox's APNs and mail server; its URL contains another port.
    func sandboxPorts() throws -> [NeededPort] {
        let ports = [
            ("SANDBOX_APNS_PORT", 8_091, "APNs"), ("SANDBOX_APNS_SANDBOX_PORT", 8_092, "APNs"),
            ("SANDBOX_SMTP_PORT", 8_093, "mail server"),
        ]
        return try ports.map { key, standard, purpose in
            let port = try given[key].map { try Self.port($0, of: key) } ?? standard
            return NeededPort(port: LoopbackPort(port), purpose: "the sandbox's \(purpose)", setting: "\(key)=<port>")
        }
    }
}
