import ArgumentParser
import AuthAPI
import SocialAPI

/// `roost keys`: the keys that sign access tokens, the key that encrypts tokens, and the keys of the services.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Rotates signing keys, encryption keys and the keys of services.",
        subcommands: [RotateKeysCommand.self, ReencryptCommand.self]
    )
}

/// `roost keys rotate`: rotates the key that signs access tokens, or the keys of the services.
struct RotateKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Rotates the key that signs access tokens, or the keys of the services.",
        discussion: """
            Without an argument: the standby key, which every service knows already, signs from now on; a new key \
            stands by; the previous key verifies what it signed until that has expired. No session ends.

            services: replaces the keys by which services recognise each other, in the steps introduce, switch and \
            retire. Restart all processes after each step; no call between services fails.
            """
    )

    @Argument(help: "What to rotate: nothing (access tokens) or \"services\".")
    var subject: String?

    @Option(help: "The step of a rotation of services: introduce, switch or retire.")
    var step: String?

    @Option(help: "The file with the service keys; .roost/secrets.env by default, .env with compose.")
    var file: String?

    @OptionGroup var options: WorkspaceOptions

    func validate() throws {
        guard let subject else {
            guard step == nil, file == nil else { throw ValidationError("--step and --file belong to \"services\".") }
            return
        }
        guard subject == "services" else { throw ValidationError("The argument is \"services\" or absent.") }
        guard step.flatMap(ServiceKeyRotation.Step.init) != nil else {
            throw ValidationError("--step must be introduce, switch or retire.")
        }
    }

    func run() async throws {
        if let step = step.flatMap(ServiceKeyRotation.Step.init) {
            let path = try file ?? options.workspace().secretsFile
            try ServiceKeyRotation(file: EnvironmentFile(path: path)).perform(step)
            print("\(path) is changed. Restart all processes before the next step.")
            return
        }
        let rotation = try await AuthClient.ofOperator(options).rotateKeys()
        print("signs:     \(rotation.current)")
        print("stands by: \(rotation.standby)")
        print("verifies:  \(rotation.previous.joined(separator: ", "))")
    }
}

/// `roost keys reencrypt`: what people have linked is sealed with the first key of `TOKEN_ENCRYPTION_KEY`.
struct ReencryptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reencrypt",
        abstract: "Seals the tokens of linked networks with the first key of TOKEN_ENCRYPTION_KEY.",
        discussion: """
            Social does so by itself within a minute of its start; this waits until it is done and says whether a key may \
            be thrown away.
            """
    )

    @OptionGroup var options: WorkspaceOptions

    func run() async throws {
        let report = try await SocialClient(.ofOperator("social", options)).reencrypt()
        print("sealed anew: \(report.reencrypted)")
        guard report.unreadable == 0 else {
            print("unreadable:  \(report.unreadable), since their key is not in TOKEN_ENCRYPTION_KEY")
            throw ExitCode.failure
        }
    }
}
