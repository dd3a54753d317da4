import ArgumentParser
import AuthAPI

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
        let rotation = try await AuthClient.ofOperator(options).rotateKeys()
        print("signs:     \(rotation.current)")
        print("stands by: \(rotation.standby)")
        print("verifies:  \(rotation.previous.joined(separator: ", "))")
    }
}
