/// The settings of a running sandbox, for the programs that use it.
struct SandboxEnvironment: Sendable {
    let credentials: SandboxCredentials
    let networks: SandboxNetworks
    let identities: SandboxIdentities

    static func read(from url: String) async throws -> SandboxEnvironment {
        SandboxEnvironment(
            credentials: try await .read(from: url),
            networks: try await .read(from: url),
            identities: try await .read(from: url)
        )
    }

    /// Returns a program's environment; external services without settings are replaced by the sandbox.
    func added(to environment: [String: String], of program: SuiteProgram) throws -> [String: String] {
        switch program.name {
        case "auth":
            let mail = credentials.addedForMail(to: environment)
            return identities.added(to: networks.added(to: mail, only: ["facebook", "twitter"]))
        // Photos downloads the avatars of the sandbox's users from the sandbox's address.
        case "photos": return networks.added(to: environment, only: [])
        case "push": return try credentials.added(to: environment)
        case "social": return networks.added(to: environment)
        default: return environment
        }
    }
}

extension [String: String] {
    func isSet(_ name: String) -> Bool { self[name]?.isEmpty == false }
}
