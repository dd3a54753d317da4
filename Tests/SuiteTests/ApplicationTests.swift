import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import HTTPTypes
import PushAPI
import ServiceClient
import Testing
import Wire

/// An application with its own accounts: an account server in Python, and the real executables.
extension SuiteTests {
    @Suite("Applications with their own accounts") struct ApplicationTests {
        @Test("Users of an account server sign in and exchange messages")
        func signIn() async throws {
            try await RunningSuite.with { suite in
                let admin = try await Self.administrator(of: suite)
                let acme = try await Self.application("Acme", by: admin)
                try await AccountServer.with(acme, of: suite) { accounts in
                    let ada = try await accounts.signIn("ada")
                    let bo = try await accounts.signIn("bo")

                    let draft = ConversationDraft(label: "Walk", members: ["bo", "cy"])
                    let made = try await ada.conversations.create(draft)
                    _ = try await bo.conversations.send(MessageDraft(data: "At ten."), to: made.token)

                    let history = try await ada.conversations.messages(made.token)
                    #expect(history.first?.data == "At ten.")
                    #expect(history.first?.senderUser?.serial == "bo")
                    #expect(try await accounts.signIn("cy").conversations.list().items.map(\.token) == [made.token])
                    #expect(try await accounts.isRefused("ada", password: "another's"))
                }
            }
        }

        @Test("A deleted user leaves the conversations, and the messages stay")
        func deletedUser() async throws {
            try await RunningSuite.with { suite in
                let admin = try await Self.administrator(of: suite)
                let acme = try await Self.application("Acme", by: admin)
                try await AccountServer.with(acme, of: suite) { accounts in
                    let ada = try await accounts.signIn("ada")
                    let bo = try await accounts.signIn("bo")
                    let made = try await ada.conversations.create(ConversationDraft(label: "Walk", members: ["bo"]))
                    _ = try await bo.conversations.send(MessageDraft(data: "At ten."), to: made.token)

                    let _: Done = try await admin.delete("/applications/\(acme.applicationId)/users/bo")

                    try await eventually(within: .seconds(60), "gone") {
                        let history = try await ada.conversations.messages(made.token)
                        let members = try await ada.conversations.conversation(made.token).members
                        return history.allSatisfy { $0.senderUser == nil } && members == ["ada"]
                    }
                    #expect(try await ada.conversations.messages(made.token).contains { $0.data == "At ten." })
                }
            }
        }

        @Test("A revoked key ends the sessions of its application at every service")
        func revokedKey() async throws {
            try await RunningSuite.with { suite in
                let admin = try await Self.administrator(of: suite)
                let acme = try await Self.application("Acme", by: admin)
                let globex = try await Self.application("Globex", by: admin)
                try await AccountServer.with(acme, of: suite) { accounts in
                    try await AccountServer.with(globex, of: suite) { others in
                        let ada = try await accounts.signIn("ada")
                        let sameName = try await others.signIn("ada")
                        let endpoints = [suite.gatewayPort, suite.authPort, suite.conversationsPort].map {
                            (port: $0, path: $0 == suite.authPort ? "/auth/sessions" : "/conversations")
                        }
                        // Every cache knows the session before it ends.
                        for (port, path) in endpoints { #expect(try await ada.status(at: port, path) == 200) }

                        let keys = "/applications/\(acme.applicationId)/keys/\(acme.encryptionKeyId)"
                        let _: Done = try await admin.delete(keys)

                        let ended = ContinuousClock.now
                        for (port, path) in endpoints {
                            try await eventually(within: SuiteTests.promptLimit - (.now - ended), "refused at \(port)")
                            {
                                try await ada.status(at: port, path) == 403
                            }
                        }
                        for (port, path) in endpoints { #expect(try await sameName.status(at: port, path) == 200) }
                        await #expect(throws: APIError.self) { try await accounts.signIn("ada") }
                    }
                }
            }
        }

        static func administrator(of suite: RunningSuite) async throws -> ServiceClient {
            _ = try await suite.person("root")
            let (status, output) = try await suite.roost("admin", "grant", "root").run(within: .seconds(60))
            try #require(status.isSuccess, "\(output)")
            return suite.gateway(jwt: try await suite.signInAgain("root").signIn.jwt)
        }

        static func application(_ name: String, by admin: ServiceClient) async throws -> NewApplication {
            try await admin.post("/applications", ApplicationDraft(name: name))
        }
    }
}

/// A running `examples/account-server` of one application.
struct AccountServer: Sendable {
    /// A user that the account server has authenticated.
    struct Customer: Sendable {
        let suite: RunningSuite
        let session: String

        /// The conversations, with the session's token as the bearer token.
        var conversations: ConversationsClient { ConversationsClient(suite.gateway(jwt: session)) }
        var preferences: PreferencesClient { PreferencesClient(suite.gateway(jwt: session)) }

        /// Returns the status of a request with the session in diuit's own header.
        func status(at port: Int, _ path: String) async throws -> Int {
            var headers = HTTPFields()
            if let name = HTTPField.Name("x-diuit-session-token") { headers[name] = session }
            do {
                return try await suite.client(port: port, jwt: nil).send(.get, path, headers: headers).status
            } catch let error as APIError {
                return error.kind.status
            }
        }
    }

    private let application: NewApplication
    private let suite: RunningSuite
    private let server: ServiceClient

    static func with(
        _ application: NewApplication,
        of suite: RunningSuite,
        _ body: (AccountServer) async throws -> Void
    ) async throws {
        let folder = "\(SuiteTests.root)/examples/account-server"
        let (status, output) = try await ProcessCommand(
            "\(SuiteTests.root)/scripts/python-environment",
            ["account-server", "\(folder)/requirements.txt"],
            environment: suite.environment
        ).run(within: .seconds(300))
        guard status.isSuccess, let python = output.split(separator: "\n").last else {
            throw SuiteError("no environment for Python: \(output)")
        }
        let keyFile = "\(suite.directory)/\(application.applicationId).pem"
        try application.encryptionKey.write(toFile: keyFile, atomically: true, encoding: .utf8)
        let port = try LoopbackPort.free(1)[0].number
        var environment = suite.environment
        environment["ROOST_URL"] = "http://127.0.0.1:\(suite.gatewayPort)"
        environment["APPLICATION_ID"] = application.applicationId
        environment["APPLICATION_KEY"] = application.applicationKey
        environment["ENCRYPTION_KEY_ID"] = application.encryptionKeyId
        environment["ENCRYPTION_KEY_FILE"] = keyFile
        environment["PASSWORDS"] = #"{"ada": "pw of ada", "bo": "pw of bo", "cy": "pw of cy"}"#
        environment["PORT"] = "\(port)"
        // The account server's times have an offset from UTC.
        environment["TZ"] = "Asia/Taipei"
        let process = try await ChildProcess.start(
            ProcessCommand(String(python), ["\(folder)/account_server.py"], environment: environment)
                .privileged(signalOnParentDeath: "KILL")
        )
        let outcome: Result<Void, any Error>
        do {
            let server = suite.client(port: port, jwt: nil)
            try await eventually(within: .seconds(60), "an account server") {
                guard process.status == nil else { throw SuiteError("the account server has ended") }
                // Binding the port for a test could take it from the server, so the listener is looked up.
                return LoopbackPort(port).listener != nil
            }
            outcome = .success(try await body(AccountServer(application: application, suite: suite, server: server)))
        } catch {
            outcome = .failure(error)
        }
        process.signal(SIGKILL)
        _ = await process.exit()
        try outcome.get()
    }

    /// Signs a user in on a device, which FCM reaches by `pushToken`.
    func signIn(_ name: String, device: String = "phone", pushToken: String? = nil) async throws -> Customer {
        let response: [String: String] = try await server.post(
            "/login",
            ["username": name, "password": "pw of \(name)"]
        )
        guard let token = response["authToken"] else { throw SuiteError("no auth token for \(name)") }
        var headers = HTTPFields()
        if let name = HTTPField.Name("x-diuit-application-id") { headers[name] = application.applicationId }
        if let name = HTTPField.Name("x-diuit-app-key") { headers[name] = application.applicationKey }
        let draft = ApplicationLoginDraft(
            authToken: token,
            deviceId: device,
            platform: pushToken.map { _ in "gcm" },
            pushToken: pushToken
        )
        let body = try WireJSON.encoder().encode(draft)
        let signedIn = try await suite.gateway().send(.post, "/1/auth/login", headers: headers, body: body)
        let session = try WireJSON.decode(ApplicationSignIn.self, from: signedIn.body)
        #expect(session.userId == name)
        #expect(session.deviceId == device)
        return Customer(suite: suite, session: session.session)
    }

    func isRefused(_ name: String, password: String) async throws -> Bool {
        do {
            let _: [String: String] = try await server.post("/login", ["username": name, "password": password])
            return false
        } catch is APIError {
            return true
        }
    }
}
