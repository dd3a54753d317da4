import ArgumentParser
import Glibc
import SocketIOClient

/// `roost chat`: a conversation in the terminal, as any client has it.
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Talks in a conversation, in the terminal.",
        discussion: """
            Each line is a message; messages of others appear as they come. Ctrl-D leaves once all is said, Ctrl-C at \
            once. It works in pipes: messages go to standard output, everything else to standard error. Without \
            --conversation, --new or --with it lists your conversations.
            """
    )

    @Option(help: "Where the gateway is.") var url = "http://127.0.0.1:8080"
    @Option(help: "The authorities of its certificate, in PEM; the system's unless given.") var ca: String?
    @Option(help: "Who you are.") var username: String
    @Option(help: "Your password; otherwise ROOST_PASSWORD, or it is asked for. Others on this machine see arguments.")
    var password: String?
    @Flag(help: "Makes the account first, if there is none of that name.") var register = false
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
                let names = await account.known
                try await Chat(conversation: conversation, endpoint: endpoint, account: account, names: names).run()
            }
        } catch let code as ExitCode where code.rawValue == 130 {
            // Ctrl-C is how one leaves.
        } catch {
            await account.end()
            throw error
        }
        await account.end()
    }
}
