import Foundation

/// The suite's secrets on this machine: made on the first run, kept in `.roost/secrets.env`.
struct Secrets: Sendable {
    /// By the names of the settings; the database passwords as `DATABASE_PASSWORD_<SERVICE>`.
    let values: [String: String]

    /// Reads the secrets that there are.
    static func known(in workspace: Workspace) throws -> Secrets {
        Secrets(values: try EnvironmentFile(path: workspace.secretsFile).read())
    }

    /// Reads the secrets and makes those that are missing.
    static func prepare(in workspace: Workspace, environment: [String: String]) throws -> Secrets {
        let file = EnvironmentFile(path: workspace.secretsFile)
        var values = try file.read()
        let known = values
        let hasData = FileManager.default.fileExists(atPath: "\(workspace.postgres)/data")
        if known.isEmpty, hasData, environment["TOKEN_ENCRYPTION_KEY"] == nil {
            throw Workspace.Problem(
                """
                \(workspace.secretsFile) is gone, and what is encrypted in \(workspace.postgres) cannot be read without it.
                Bring it back from a backup, or remove \(workspace.postgres) to start anew.
                """
            )
        }
        for key in ["SERVICE_SECRET", "TOKEN_ENCRYPTION_KEY"] where values[key] == nil {
            values[key] = randomKey().base64EncodedString()
        }
        for service in SuiteProgram.all where service.hasDatabase && values[service.passwordKey] == nil {
            values[service.passwordKey] = randomKey().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
                .joined()
        }
        if values != known {
            try file.write(
                values,
                heading: "Made by `roost up`. Whoever reads this can read and forge everything: keep it, show nobody."
            )
        }
        return Secrets(values: values)
    }

    /// 256 random bits.
    private static func randomKey() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<32).map { _ in generator.next() as UInt8 })
    }
}
