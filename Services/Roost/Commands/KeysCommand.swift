import ArgumentParser
import AuthAPI
import SocialAPI

/// `roost keys`: the keys that access tokens are signed with, and the one that seals.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Looks after the keys that tokens are signed and sealed with.",
        subcommands: [RotateKeysCommand.self, ResealCommand.self]
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

/// `roost keys reseal`: what people have linked is sealed with the first key of `TOKEN_ENCRYPTION_KEY`.
struct ResealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseal",
        abstract: "Seals the tokens of linked networks with the first key of TOKEN_ENCRYPTION_KEY.",
        discussion: """
            Social does so by itself within a minute of its start; this waits until it is done and says whether a key may \
            be thrown away.
            """
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let report = try await SocialClient(.ofOperator("social", options)).reseal()
        print("sealed anew: \(report.resealed)")
        guard report.unreadable == 0 else {
            print("unreadable:  \(report.unreadable), since their key is not in TOKEN_ENCRYPTION_KEY")
            throw ExitCode.failure
        }
    }
}
