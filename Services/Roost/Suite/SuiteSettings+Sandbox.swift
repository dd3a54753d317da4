import ChildProcesses

/// Whether the outside world is the sandbox's, and where.
extension SuiteSettings {
    /// Whether the sandbox runs: where `SANDBOX` says so, else where there is no key for the real providers.
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

    /// The ports of the sandbox's APNs and mail server, beside the one in its URL.
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
