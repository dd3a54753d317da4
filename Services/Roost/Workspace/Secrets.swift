import Credentials
import Crypto
import Foundation
import Glibc
import Wire

/// The suite's secrets on this machine: made on the first run, kept in `.roost/secrets.env`.
struct Secrets: Sendable {
    /// By the names of the settings; the database passwords as `DATABASE_PASSWORD_<SERVICE>`.
    let values: [String: String]

    /// Reads the secrets that there are.
    static func known(in workspace: Workspace) throws -> Secrets {
        Secrets(values: try EnvironmentFile(path: workspace.secretsFile).read())
    }

    /// Reads the secrets and makes those that are missing; what the operator has set wins and is not kept.
    static func prepare(in workspace: Workspace, environment: [String: String]) throws -> Secrets {
        let known = try known(in: workspace).values
        let given = environment.filter { (names + [sharedKey]).contains($0.key) && !$0.value.isEmpty }
        let hasData = FileManager.default.fileExists(atPath: "\(workspace.postgres)/data")
        let hasEncryptionKeys = (encryptionKeys + [sharedKey]).contains { known[$0] != nil || given[$0] != nil }
        if !hasEncryptionKeys, hasData {
            let removal =
                geteuid() == 0
                ? "`roost data remove \(workspace.dataName) --yes --force`" : "removing \(workspace.postgres)"
            throw Workspace.Problem(
                """
                \(workspace.secretsFile) is gone, and what is encrypted in \(workspace.postgres) cannot be read without it.
                Restore it from a backup, or start with empty data after \(removal).
                """
            )
        }
        var values = known
        // Where the operator distributes public keys, the private ones are not kept here.
        let hasKeys = environment["SERVICE_PUBLIC_KEYS"]?.isEmpty == false
        for name in names where values[name] == nil && given[name] == nil {
            // An operator who sets the shared key keeps that one: nothing is encrypted with a key that they do not have.
            if encryptionKeys.contains(name), given[sharedKey] != nil { continue }
            if hasKeys, name.hasSuffix(ServiceKeys.settingSuffix) { continue }
            values[name] = random(name)
        }
        if values != known { try save(values, in: workspace) }
        return Secrets(values: values.merging(given) { $1 })
    }

    /// The password of the demo account, made where there is none: only where the sandbox runs does anybody need it.
    static func demoPassword(in workspace: Workspace, given: [String: String]) throws -> String {
        if let password = given["DEMO_PASSWORD"], !password.isEmpty { return password }
        var values = try known(in: workspace).values
        if let password = values["DEMO_PASSWORD"] { return password }
        let password = Base64URL.encode(randomKey())
        values["DEMO_PASSWORD"] = password
        try save(values, in: workspace)
        return password
    }

    private static func save(_ values: [String: String], in workspace: Workspace) throws {
        try workspace.create()
        try EnvironmentFile(path: workspace.secretsFile).write(
            values,
            heading: "Made by `roost up`. Whoever reads this can read and forge everything: keep it, show nobody."
        )
    }

    /// Secrets for a database that is soon gone.
    static func ephemeral() -> Secrets {
        Secrets(values: Dictionary(uniqueKeysWithValues: names.map { ($0, random($0)) }))
    }

    /// The key that auth and social shared in earlier releases; it still decrypts where it is set.
    private static let sharedKey = "TOKEN_ENCRYPTION_KEY"
    private static let encryptionKeys = SuiteProgram.all.compactMap(\.encryptionKey)
    private static let names =
        ["VAPID_PRIVATE_KEY"] + encryptionKeys + ServiceKeys.names.map(ServiceKeys.setting)
        + SuiteProgram.all.filter(\.hasDatabase).map(\.passwordKey)

    /// A password in hex, which a URL takes as it is; a key of P-256 in base64url; anything else in base64.
    private static func random(_ name: String) -> String {
        if name.hasSuffix(ServiceKeys.settingSuffix) { return ServiceKeys.generate() }
        if name == "VAPID_PRIVATE_KEY" { return Base64URL.encode(P256.Signing.PrivateKey().rawRepresentation) }
        let key = randomKey()
        return name.hasPrefix("DATABASE_PASSWORD")
            ? key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() : key.base64EncodedString()
    }

    /// 256 random bits.
    private static func randomKey() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<32).map { _ in generator.next() as UInt8 })
    }
}
