/// All that a sandbox which runs has told of the outside that it stands in for, and who is to know what of it.
struct SandboxEnvironment: Sendable {
    let credentials: SandboxCredentials
    let networks: SandboxNetworks
    let identities: SandboxIdentities

    /// Asks a sandbox that runs.
    static func read(from url: String) async throws -> SandboxEnvironment {
        SandboxEnvironment(
            credentials: try await .read(from: url),
            networks: try await .read(from: url),
            identities: try await .read(from: url)
        )
    }

    /// A program's environment, so that it asks the sandbox where the operator has said nothing of the real place.
    func added(to environment: [String: String], of program: SuiteProgram) throws -> [String: String] {
        switch program.name {
        case "auth":
            let mail = credentials.addedForMail(to: environment)
            return identities.added(to: networks.added(to: mail, only: ["facebook", "twitter"]))
        // Pictures of the sandbox's people are at its own address.
        case "photos": return networks.added(to: environment, only: [])
        case "push": return try credentials.added(to: environment)
        case "social": return networks.added(to: environment)
        default: return environment
        }
    }
}

extension [String: String] {
    /// Whether a setting of an environment says something.
    func isSet(_ name: String) -> Bool { self[name]?.isEmpty == false }
}
