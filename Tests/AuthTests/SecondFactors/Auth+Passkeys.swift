import AuthAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import WebAuthn
import Wire

extension Auth {
    /// The JSON of an authenticator's response with additional fields.
    private func text(_ answer: some Encodable, with more: [String: JSONValue] = [:]) throws -> String {
        let value = try WireJSON.decoder().decode(JSONValue.self, from: JSONEncoder().encode(answer))
        guard case .object(let fields) = value else { throw TestSupportError("no object") }
        return json(fields.merging(more) { $1 })
    }

    func creationChallenge(_ person: Person) async throws -> String {
        let answer = try await service.send(.post, "/auth/passkeys/options", token: person.jwt)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(PasskeyCreationOptions.self).challenge
    }

    func add(
        _ authenticator: SoftwareAuthenticator,
        of person: Person,
        challenge: String? = nil,
        name: String? = nil
    ) async throws -> TestHTTPResponse {
        let signed: String
        if let challenge { signed = challenge } else { signed = try await creationChallenge(person) }
        let more = name.map { ["name": JSONValue.string($0)] } ?? [:]
        let body = try text(authenticator.create(signed), with: more)
        return try await service.send(.post, "/auth/passkeys", token: person.jwt, body: body)
    }

    func loginChallenge() async throws -> String {
        let answer = try await service.send(.post, "/auth/login/passkey/options")
        return try answer.decode(PasskeyRequestOptions.self).challenge
    }

    func login(
        by authenticator: SoftwareAuthenticator,
        challenge: String? = nil,
        device: String? = nil
    ) async throws -> TestHTTPResponse {
        let signed: String
        if let challenge { signed = challenge } else { signed = try await loginChallenge() }
        let more = device.map { ["deviceId": JSONValue.string($0)] } ?? [:]
        return try await post("/auth/login/passkey", try text(authenticator.get(signed), with: more))
    }
}
