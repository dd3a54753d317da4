import AuthAPI
import Wire

/// What a suite with a sandbox has to show from the start: networks that call social, and an account linked to them.
struct Demo: Sendable {
    let settings: SuiteSettings
    let networks: SandboxNetworks
    let account: DemoAccount

    init(_ settings: SuiteSettings, networks: SandboxNetworks, password: String) {
        self.settings = settings
        self.networks = networks
        account = DemoAccount(settings, password: password)
    }

    /// Does all of it, whatever was done before.
    ///
    /// What could not be done of the networks is told, and nothing else is the worse for it.
    ///
    /// - Parameters:
    ///   - anew: Links what is linked too: a sandbox that was started again knows nothing of the tokens that it gave out.
    ///   - tell: Is told what could not be done.
    /// - Returns: A session of the account.
    /// - Throws: Where nobody could be signed in.
    func prepare(relinking: Bool, reporting report: (String) -> Void) async throws -> SignIn {
        let fake = networks.used(for: settings.given)
        let social = SuiteProgram.all.first { $0.name == "social" }.flatMap { settings.addresses(of: $0).first }
        let webhooks = social.map { SandboxWebhooks(social: $0, given: settings.given) }
        for network in fake {
            await reporting(report, "\(network.network) of the sandbox does not call social") {
                try await webhooks?.register(at: network)
            }
        }
        let signIn = try await account.signIn()
        let linked = relinking ? [] : try await account.linked(signIn)
        for network in fake where !linked.contains(network.network) {
            await reporting(report, "the demo is not linked to \(network.network)") {
                try await account.link(to: network, signIn)
            }
        }
        return signIn
    }

    private func reporting(_ report: (String) -> Void, _ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            report("\(what): \((error as? APIError)?.message ?? "\(error)")")
        }
    }
}
