import ChildProcesses
import Credentials
import Foundation

/// The settings of a run: the environment, then `.env`, then the secrets that `roost` created.
struct SuiteSettings: Sendable {
    /// The settings of the operator.
    let given: [String: String]
    let secrets: Secrets

    /// Reads the settings.
    ///
    /// Missing secrets are created only with `makingSecrets`, for a command that runs services.
    init(
        workspace: Workspace,
        makingSecrets: Bool = false,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        let file = try EnvironmentFile(path: workspace.settingsFile).read()
        given = file.merging(environment) { $1 }.filter { !$0.value.isEmpty || environment[$0.key] != nil }
        secrets =
            try makingSecrets
            ? Secrets.prepare(in: workspace, environment: given) : Secrets.read(in: workspace)
    }

    init(given: [String: String], secrets: Secrets) {
        self.given = given
        self.secrets = secrets
    }

    /// The URL of the operator's PostgreSQL; nil for a private server.
    var databaseURL: String? { given["DATABASE_URL"].flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns the absolute path of the upload folder; a relative setting is relative to the checkout.
    func uploads(in workspace: Workspace) -> String {
        let path = given["BLOBS_PATH"].flatMap { $0.isEmpty ? nil : $0 } ?? ".roost/blobs"
        return path.hasPrefix("/") ? path : "\(workspace.root)/\(path)"
    }

    /// Returns the instances to run on this machine.
    ///
    /// An address in `AUTH_URL` and similar settings outside the loopback interface is assumed to be running elsewhere.
    func instances() throws -> [SuiteInstance] {
        let usesSandbox = try self.usesSandbox
        return try SuiteProgram.all.filter { $0 != .sandbox || usesSandbox }.flatMap { program in
            guard let key = program.urlKey else {
                let port = try given["PORT"].map { try Self.port($0, of: "PORT") } ?? program.port
                var gateway = SuiteInstance(
                    program: program,
                    name: program.name,
                    host: given["HOST"] ?? "127.0.0.1",
                    port: port
                )
                gateway.managementPort = try securePort()
                return [gateway]
            }
            let local = try addresses(of: program).compactMap { url -> Int? in
                guard let parts = URLComponents(string: url), let host = parts.host else {
                    throw Workspace.Problem(
                        "\(key) is \"\(url)\"; it must be one or more URLs, like http://127.0.0.1:\(program.port)"
                    )
                }
                return ["127.0.0.1", "localhost"].contains(host) ? parts.port ?? 80 : nil
            }
            return local.enumerated().map { index, port in
                let name = index == 0 ? program.name : "\(program.name)-\(index + 1)"
                return SuiteInstance(program: program, name: name, host: "127.0.0.1", port: port)
            }
        }
    }

    func neededPorts(for instances: [SuiteInstance]) throws -> [NeededPort] {
        try instances.flatMap { instance in
            let setting = instance.program.urlKey.map { "\($0)=http://127.0.0.1:<port>" } ?? "PORT=<port>"
            let own = NeededPort(port: LoopbackPort(instance.port), purpose: instance.name, setting: setting)
            guard instance.program != .sandbox else {
                return try [own] + sandboxPorts()
            }
            guard instance.program.urlKey == nil else {
                return [own]
            }
            let metrics = try managementPort()
            let key = "MANAGEMENT_PORT=<port>"
            let management = NeededPort(port: LoopbackPort(metrics), purpose: "the gateway's metrics", setting: key)
            return metrics == 0 ? [own] : [own, management]
        }
    }

    /// Returns the port of the gateway's metrics; 0 disables them.
    private func managementPort() throws -> Int {
        try given["MANAGEMENT_PORT"].map { try Self.port($0, of: "MANAGEMENT_PORT", from: 0) } ?? 9_090
    }

    /// Returns the URL for liveness checks; the gateway's management port works even in a flood of clients.
    func healthURL(of instance: SuiteInstance) throws -> String? {
        let port = try managementPort()
        guard instance.program.urlKey == nil, port > 0 else { return instance.readinessURL }
        return "http://127.0.0.1:\(port)"
    }

    /// Returns the management port of a gateway with TLS, or nil without TLS.
    private func securePort() throws -> Int? {
        guard given["TLS_CERTIFICATE"]?.isEmpty == false else {
            return nil
        }
        let port = try managementPort()
        guard port > 0 else {
            throw Workspace.Problem("MANAGEMENT_PORT must not be 0 with TLS_CERTIFICATE: roost checks readiness there")
        }
        return port
    }

    /// Returns the environment of one process: the operator's settings, and its own address, database and secrets.
    ///
    /// It contains no secret of another program.
    func environment(of instance: SuiteInstance, databaseURL: String?) throws -> [String: String] {
        var environment = given
        for program in SuiteProgram.all {
            environment[program.databaseKey] = nil
            environment[program.passwordKey] = nil
            if let key = program.encryptionKey { environment[key] = nil }
            if let key = program.urlKey {
                environment[key] = addresses(of: program).joined(separator: ",")
            }
        }
        for key in Set(SuiteProgram.all.flatMap(\.secrets)) {
            environment[key] = instance.program.secrets.contains(key) ? secret(key) : nil
        }
        environment["TOKEN_ENCRYPTION_KEY"] = encryptionKeys(of: instance.program)
        for name in ServiceKeys.names { environment[ServiceKeys.setting(of: name)] = nil }
        environment["SERVICE_SECRET"] = nil
        if let key = instance.program.serviceKeySetting {
            environment["SERVICE_KEY"] = secret(key)
            environment["SERVICE_PUBLIC_KEYS"] = try servicePublicKeys()
        }
        environment["DEMO_PASSWORD"] = nil
        if instance.program.urlKey != nil { environment["TLS_KEY"] = nil }
        if instance.program == .sandbox { environment["SANDBOX_FOLDER"] = given["SANDBOX_FOLDER"] ?? ".roost/sandbox" }
        environment["DATABASE_URL"] = databaseURL
        environment["EVENT_SUBSCRIBERS"] = given["EVENT_SUBSCRIBERS"] ?? Self.subscribers
        environment["HOST"] = instance.host
        environment["PORT"] = "\(instance.port)"
        environment["PUBLIC_URL"] = try given["PUBLIC_URL"] ?? gatewayURL()
        environment["SUPERVISED"] = "1"
        environment["DRAIN_TIMEOUT"] = "\(drainTimeout)"
        environment["SWIFT_BACKTRACE"] = given["SWIFT_BACKTRACE"] ?? Self.backtrace
        return environment
    }

    /// The default behaviour of a process that traps: it prints addresses and exits.
    ///
    /// Symbolication of an executable of 150 MB takes 7 s, even with `symbolicate=fast`. Meanwhile the port stays open
    /// without responses. Without symbolication, the process exits within 0.3 s. docs/operations.md explains how to
    /// symbolicate the addresses later.
    private static let backtrace =
        "enable=yes,interactive=no,color=no,threads=crashed,registers=none,images=mentioned,symbolicate=off,timeout=3s"

    private static let subscribers = [
        "device.registered=push", "device.badge=push", "session.ended=push",
        "user.deleted=push+conversations+photos+social", "user.deletion_completed=auth",
        "application.deleted=push+conversations+photos+social",
        "device.new_sign_in=push",
        "user.changed=photos+push+conversations", "profile.changed=conversations",
        "user.blocked=photos", "user.unblocked=photos", "broadcast.live=push",
        "notification.recalled=push", "devices.changed=social", "device.registration_changed=conversations",
    ].joined(separator: ",")

    /// Returns the public keys by which processes authenticate each other.
    func servicePublicKeys() throws -> String {
        if let keys = given["SERVICE_PUBLIC_KEYS"], !keys.isEmpty { return keys }
        let names = ServiceKeys.names.compactMap { name in secret(ServiceKeys.setting(of: name)).map { (name, $0) } }
        let keys = Dictionary(uniqueKeysWithValues: names).filter { !$0.value.isEmpty }
        do {
            return try ServiceKeys.publicKeys(of: keys)
        } catch {
            throw Workspace.Problem("a service key in .env or .roost/secrets.env is malformed: \(error)")
        }
    }

    func secret(_ key: String) -> String? { given[key] ?? secrets.values[key] }

    /// Returns the encryption keys of a program, comma-separated, or nil when there is none.
    ///
    /// The first key is the program's own. The key that auth and social shared in earlier releases still decrypts.
    func encryptionKeys(of program: SuiteProgram) -> String? {
        guard let own = program.encryptionKey else { return nil }
        let keys = [own, "TOKEN_ENCRYPTION_KEY"].compactMap(secret).filter { !$0.isEmpty }
        return keys.isEmpty ? nil : keys.joined(separator: ",")
    }

    func gatewayURL() throws -> String {
        let gateway = try instances().first { $0.program.urlKey == nil }
        return gateway?.url ?? "http://127.0.0.1:8080"
    }

    /// The time limit for requests in progress when a service stops, in whole seconds.
    var drainTimeout: Int { given["DRAIN_TIMEOUT"].flatMap { Int($0) } ?? 8 }

    func addresses(of program: SuiteProgram) -> [String] {
        let value = program.urlKey.flatMap { given[$0] } ?? "http://127.0.0.1:\(program.port)"
        return value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    static func port(_ text: String, of key: String, from least: Int = 1) throws -> Int {
        guard let port = Int(text), least...65_535 ~= port else {
            throw Workspace.Problem("\(key) is \"\(text)\"; it must be a port, \(least) to 65535")
        }
        return port
    }
}
