import ArgumentParser
import Glibc
import SocketIOClient

struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Chats in a conversation, in the terminal.",
        discussion: """
            Each line that you type is sent as a message, and messages of other members appear as they arrive. Ctrl-D \
            exits after all messages are sent, Ctrl-C exits at once. The command works in pipes: messages go to \
            standard output, everything else to standard error. Without --conversation, --new or --with, it lists your \
            conversations.
            """
    )

    @Option(help: "The URL of the gateway.") var url = "http://127.0.0.1:8080"
    @Option(help: "A PEM file of certificate authorities; the system's by default.") var ca: String?
    @Option(help: "Your username.") var username: String
    @Option(help: "Your password (default: ROOST_PASSWORD, or a prompt). Other users of this machine see arguments.")
    var password: String?
    @Flag(help: "Creates the account first, if the username is free.") var register = false
    @OptionGroup var conversationOptions: ConversationOptions

    func run() async throws {
        let endpoint: SocketIOEndpoint
        do {
            endpoint = try SocketIOEndpoint(url, trust: ca.map { .file($0) } ?? .system)
        } catch {
            throw ValidationError("\(error)")
        }
        let password = try password ?? PasswordPrompt.password(of: username)
        let http = try ChatHTTP(url: url, ca: ca)
        let account = ChatAccount(http: http, username: username, password: password)
        do {
            try await Interruption.cancellable {
                try await account.begin(registering: register)
                guard let conversation = try await conversationOptions.conversation(of: account) else { return }
                let names = await account.displayNames
                try await Chat(conversation: conversation, endpoint: endpoint, account: account, names: names).run()
            }
        } catch let code as ExitCode where code.rawValue == 130 {
            // Ctrl-C is a normal way to exit.
        } catch {
            await account.end()
            throw error
        }
        await account.end()
    }
}
