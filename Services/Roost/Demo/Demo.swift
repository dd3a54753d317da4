import AuthAPI
import Wire

/// The demo of a suite with a sandbox: networks that call social, and an account that is linked to them.
struct Demo: Sendable {
    let settings: SuiteSettings
    let networks: SandboxNetworks
    let account: DemoAccount

    init(_ settings: SuiteSettings, networks: SandboxNetworks, password: String) {
        self.settings = settings
        self.networks = networks
        account = DemoAccount(settings, password: password)
    }

    /// Prepares the demo; the method may run again at any time.
    ///
    /// Failures with a network are reported and do not stop the rest.
    ///
    /// - Parameters:
    ///   - relinking: whether linked networks are linked again; a restarted sandbox does not know its earlier tokens.
    ///   - report: receives a description of each failure.
    /// - Returns: a session of the account.
    /// - Throws: an error when the account cannot sign in.
    func prepare(relinking: Bool, reporting report: (String) -> Void) async throws -> SignIn {
        let fake = networks.used(for: settings.given)
        let social = SuiteProgram.all.first { $0.name == "social" }.flatMap { settings.addresses(of: $0).first }
        let webhooks = social.map { SandboxWebhooks(social: $0, given: settings.given) }
        for network in fake {
            await reporting(report, "the sandbox's \(network.network) does not call social") {
                try await webhooks?.register(at: network)
            }
        }
        let signIn = try await account.signIn()
        let linked = relinking ? [] : try await account.linked(signIn)
        for network in fake where !linked.contains(network.network) {
            await reporting(report, "the demo account is not linked to \(network.network)") {
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
