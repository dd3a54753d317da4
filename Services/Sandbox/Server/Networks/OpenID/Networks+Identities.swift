import Crypto
import Foundation
import NIOHTTP1
import Wire

/// `/sandbox/identities/{google|apple}…`: what Google and Apple say of people, and what their libraries give apps.
extension Networks {
    private struct RedirectURIs: Decodable {
        let redirectUris: [String]
    }

    private struct IssuedToken: Encodable {
        let idToken: String
        /// Apple gives apps one too.
        var code: String?
    }

    private struct RevokedTokens: Encodable {
        let revoked: [String]
    }

    /// What an application must be told to have its people sign in here.
    private struct ProviderDescription: Encodable {
        let provider: String
        let issuer: String
        let clientId: String
        var clientSecret: String?
        /// Apple's way: the developer's key, PEM, and its names.
        var key: String?
        var keyId: String?
        var teamId: String?
    }

    private struct ProviderList: Encodable {
        let identities: [ProviderDescription]
    }

    func issuer(_ name: String) -> OpenIDIssuer? { networksByName[name] as? OpenIDIssuer }

    func identities(_ request: WebRequest, _ path: [String]) throws -> WebResponse {
        guard path.count >= 2 else {
            try request.require(.GET)
            let all = networksByName.values.compactMap { $0 as? OpenIDIssuer }
                .sorted { $0.service.rawValue < $1.service.rawValue }
            return try .json(ProviderList(identities: try all.map { try describe($0, at: request.origin) }))
        }
        guard let issuer = issuer(path[1]) else { throw Self.notFound(request) }
        switch (request.method, path.count > 2 ? path[2] : "", path.count) {
        case (.PUT, "people", 4):
            let profile = try request.decode(IdentityProfile.self)
            issuer.set(profile, of: issuer.community.findOrCreate(path[3]))
            return try .json(profile)
        case (.PUT, "redirects", 3):
            issuer.register(Set(try request.decode(RedirectURIs.self).redirectUris))
            return WebResponse(.noContent)
        case (.POST, "tokens", 3):
            let draft = try request.decode(IDTokenDraft.self)
            var given = IssuedToken(idToken: try issuer.idToken(draft, at: request.origin))
            if issuer.isApple { given.code = issuer.appCode(of: issuer.community.findOrCreate(draft.person)) }
            return try .json(given, status: .created)
        case (.POST, "keys", 3):
            try issuer.rotateKey()
            return WebResponse(.noContent)
        case (.GET, "revocations", 3): return try .json(RevokedTokens(revoked: issuer.revocations))
        default: throw Self.notFound(request)
        }
    }
}

extension Networks {
    private func describe(_ issuer: OpenIDIssuer, at origin: String) throws -> ProviderDescription {
        var described = ProviderDescription(
            provider: issuer.service.rawValue,
            issuer: issuer.issuer(at: origin),
            clientId: issuer.clientID
        )
        switch issuer.kind {
        case .google: described.clientSecret = issuer.clientSecret
        case .apple(let accounts):
            let account = try accounts.account(DeveloperAccount.standard)
            described.key = account.apnsKey.pemRepresentation
            described.keyId = account.keyID
            described.teamId = account.teamID
        }
        return described
    }
}

// MARK: For tests in the same process

extension Sandbox {
    /// An ID token as Google's or Apple's library gives one to an app.
    package func idToken(_ draft: IDTokenDraft, by service: SandboxService) throws -> String? {
        try networks.issuer(service.rawValue)?.idToken(draft, at: url)
    }

    /// The code that Apple's library gives an app besides.
    package func appCode(of person: String, by service: SandboxService) -> String? {
        networks.issuer(service.rawValue).map { $0.appCode(of: $0.community.findOrCreate(person)) }
    }

    /// What Google or Apple say of somebody from now on.
    package func set(_ profile: IdentityProfile, of person: String, at service: SandboxService) {
        guard let issuer = networks.issuer(service.rawValue) else { return }
        issuer.set(profile, of: issuer.community.findOrCreate(person))
    }

    /// Has another key sign, and forgets the one before.
    package func rotateKey(of service: SandboxService) throws {
        try networks.issuer(service.rawValue)?.rotateKey()
    }

    /// The tokens that Google or Apple were told to forget.
    package func revocations(at service: SandboxService) -> [String] {
        networks.issuer(service.rawValue)?.revocations ?? []
    }
}
