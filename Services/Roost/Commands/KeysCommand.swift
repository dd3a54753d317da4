import ArgumentParser
import AuthAPI
import SocialAPI

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Rotates signing keys, encryption keys and the keys of services.",
        subcommands: [RotateKeysCommand.self, ReencryptCommand.self]
    )
}

struct RotateKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Rotates the key that signs access tokens, or the keys of the services.",
        discussion: """
            Without an argument: the standby key, which every service already accepts, becomes the signing key. A new \
            standby key is created, and the previous key verifies its tokens until they expire. No session ends.

            services: replaces the keys by which services authenticate each other, in the steps introduce, switch and \
            retire. Restart all processes after each step; no call between services fails.
            """
    )

    @Argument(help: "The keys to rotate: those of access tokens if omitted, or \"services\".")
    var subject: String?

    @Option(help: "The step of a rotation of services: introduce, switch or retire.")
    var step: String?

    @Option(help: "The file with the service keys; .roost/secrets.env by default, .env with compose.")
    var file: String?

    @OptionGroup var options: WorkspaceOptions

    func validate() throws {
        guard let subject else {
            guard step == nil, file == nil else { throw ValidationError("--step and --file require \"services\"") }
            return
        }
        guard subject == "services" else { throw ValidationError("the argument must be \"services\" or absent") }
        guard step.flatMap(ServiceKeyRotation.Step.init) != nil else {
            throw ValidationError("--step must be introduce, switch or retire")
        }
    }

    func run() async throws {
        if let step = step.flatMap(ServiceKeyRotation.Step.init) {
            let path = try file ?? options.workspace().secretsFile
            try ServiceKeyRotation(file: EnvironmentFile(path: path)).perform(step)
            print("\(path) is changed; restart all processes before the next step")
            return
        }
        let rotation = try await AuthClient.ofOperator(options).rotateKeys()
        print("signing:   \(rotation.current)")
        print("standby:   \(rotation.standby)")
        print("verifying: \(rotation.previous.joined(separator: ", "))")
    }
}

struct ReencryptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reencrypt",
        abstract: "Encrypts the tokens of linked networks with the first key of TOKEN_ENCRYPTION_KEY.",
        discussion: """
            Social does this itself within a minute of its start. The command waits until it is done and reports \
            whether old keys can be removed.
            """
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let report = try await SocialClient(.ofOperator("social", options)).reencrypt()
        print("re-encrypted: \(report.reencrypted)")
        guard report.unreadable == 0 else {
            print("unreadable:   \(report.unreadable); their key is not in TOKEN_ENCRYPTION_KEY")
            throw ExitCode.failure
        }
    }
}
