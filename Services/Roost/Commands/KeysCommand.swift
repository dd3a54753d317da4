import ArgumentParser
import AuthAPI
import Credentials
import Foundation
import ServiceClient

/// `roost keys`: the keys that access tokens are signed with.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Looks after the keys that access tokens are signed with.",
        subcommands: [RotateKeysCommand.self]
    )
}

/// `roost keys rotate`: the next key signs from now on.
struct RotateKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Signs with the next key from now on; nobody is signed out.",
        discussion: """
            The key that has stood by, and that every service knows already, signs; a new one stands by; the one \
            before verifies what it has signed until that has expired.
            """
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let settings = try SuiteSettings(workspace: try options.workspace())
        guard let secret = settings.secret("SERVICE_SECRET") else {
            throw Workspace.Problem("SERVICE_SECRET is not set and .roost/secrets.env does not have it")
        }
        let tokens = try ServiceTokens(secret: secret, name: "roost")
        let auth = AuthClient(
            ServiceClient(
                callee: "auth",
                transport: HTTPTransport(
                    baseURLs: SuiteProgram.all.flatMap { $0.name == "auth" ? settings.addresses(of: $0) : [] }
                ),
                authorization: { "Bearer \(try tokens.token(for: "auth"))" }
            )
        )
        let rotation = try await auth.rotateKeys()
        print("signs:     \(rotation.current)")
        print("stands by: \(rotation.standby)")
        print("verifies:  \(rotation.previous.joined(separator: ", "))")
    }
}
