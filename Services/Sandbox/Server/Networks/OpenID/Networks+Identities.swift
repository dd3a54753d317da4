import Crypto
import Foundation
import NIOHTTP1
import Wire

/// `/sandbox/identities/{google|apple}…`: routes that control the profiles and tokens of Google and Apple.
extension Networks {
    private struct RedirectURIs: Decodable {
        let redirectUris: [String]
    }

    private struct IssuedToken: Encodable {
        let idToken: String
        /// The authorization code that Apple's library returns with the token.
        var code: String?
    }

    private struct RevokedTokens: Encodable {
        let revoked: [String]
    }

    /// The settings with which an application lets users sign in with this provider.
    private struct ProviderDescription: Encodable {
        let provider: String
        let issuer: String
        let clientId: String
        var clientSecret: String?
        /// The developer's key in PEM, which Apple requires with the key id and the team id.
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
            var issued = IssuedToken(idToken: try issuer.idToken(draft, at: request.origin))
            if issuer.isApple { issued.code = issuer.appCode(of: issuer.community.findOrCreate(draft.person)) }
            return try .json(issued, status: .created)
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
    /// Returns an ID token as Google's or Apple's library issues it to an app.
    package func idToken(_ draft: IDTokenDraft, by service: SandboxService) throws -> String? {
        try networks.issuer(service.rawValue)?.idToken(draft, at: url)
    }

    /// Returns the authorization code that Apple's library issues with the ID token.
    package func appCode(of person: String, by service: SandboxService) -> String? {
        networks.issuer(service.rawValue).map { $0.appCode(of: $0.community.findOrCreate(person)) }
    }

    package func set(_ profile: IdentityProfile, of person: String, at service: SandboxService) {
        guard let issuer = networks.issuer(service.rawValue) else { return }
        issuer.set(profile, of: issuer.community.findOrCreate(person))
    }

    package func rotateKey(of service: SandboxService) throws {
        try networks.issuer(service.rawValue)?.rotateKey()
    }

    package func revocations(at service: SandboxService) -> [String] {
        networks.issuer(service.rawValue)?.revocations ?? []
    }
}
