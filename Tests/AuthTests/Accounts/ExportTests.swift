import AuthAPI
import Foundation
import HTTPTypes
import ServiceClient
import ServiceHost
import TestSupport
import Testing
import Wire

@testable import AuthServer

/// The archive of everything that the services store of a user, read with an independent unzip.
@Suite("Export of user data") struct ExportTests {
    @Test("The archive has the files of auth and of every service")
    func completeArchive() async throws {
        let exportService = FakeExportService()
        try await withExports(of: exportService) { auth in
            let ada = try await auth.signUp("ada", device: "phone")
            let answer = try await auth.export(ada)

            #expect(answer.status == 200)
            #expect(answer.headers[.contentType] == "application/zip")
            #expect(answer.headers[.cacheControl] == "no-store")
            let archive = try await Unzipped(answer.body)
            #expect(archive.problem == nil)
            let files = archive.files
            #expect(
                files.keys.sorted() == [
                    "account/account.json", "account/applications.json", "account/audit.json",
                    "account/identities.json", "account/passkeys.json",
                    "account/second-factor.json", "account/sessions.json", "photos/pictures/1.jpg",
                    "photos/profile.json",
                ]
            )
            let account = try WireJSON.decoder().decode(
                [String: JSONValue].self,
                from: try #require(files["account/account.json"])
            )
            #expect(account["userId"]?.string == ada.userId)
            #expect(account["username"]?.string == "ada")
            #expect(files["photos/pictures/1.jpg"] == FakeExportService.picture)
            #expect(
                files["photos/profile.json"].map { String(decoding: $0, as: UTF8.self) } == #"{"of":"\#(ada.userId)"}"#
            )
            // The user can see in the audit that the data was exported.
            let audit = String(decoding: try #require(files["account/audit.json"]), as: UTF8.self)
            #expect(audit.contains("account.exported"))
            #expect(audit.contains("login.succeeded"))
        }
    }

    @Test("The archive has no secrets and no hashes of them")
    func noSecrets() async throws {
        try await withExports(of: FakeExportService()) { auth in
            let ada = try await auth.signUp("ada", device: "phone")
            let archive = try await Unzipped(try await auth.export(ada).body)
            #expect(archive.problem == nil)
            #expect(!archive.files.isEmpty)
            let text = archive.files.values.map { String(decoding: $0, as: UTF8.self) }.joined()
            for secret in ["argon2", "password", ada.refreshToken, ada.jwt] { #expect(!text.contains(secret)) }
        }
    }

    @Test("An export fails while a service is unavailable, and releases its slot")
    func unavailableService() async throws {
        try await withExports(of: FakeExportService(isBroken: true)) { auth in
            let ada = try await auth.signUp("ada")
            await #expect(throws: APIError.self) { try await auth.export(ada) }
            // The second attempt fails in the same way, because the first one released its slot.
            await #expect(throws: APIError.self) { try await auth.export(ada) }
        }
    }

    @Test("A user runs one export at a time, and an instance a limited number")
    func limits() throws {
        let exportLimit = ExportLimit(capacity: 2)
        func user(_ name: String) -> User.ID { User.ID(application: RoostApplication.id, user: name) }
        var ada: ExportLimit.Slot? = try exportLimit.take(user("ada"))
        #expect(
            throws: APIError(.rateLimited, "export_in_progress", "your export is already running", retryAfter: 30)
        ) {
            try exportLimit.take(user("ada"))
        }
        let bo = try exportLimit.take(user("bo"))
        #expect(throws: APIError.self) { try exportLimit.take(user("eve")) }
        withExtendedLifetime(ada) {}
        ada = nil
        #expect(throws: Never.self) { try exportLimit.take(user("eve")) }
        withExtendedLifetime(bo) {}
    }

    @Test("A user of an application cannot export")
    func applicationUsers() async throws {
        try await withCustomer { acme in
            let session = try await acme.signIn("ada")
            let answer = try await acme.request(.get, "/auth/me/export", session: session)
            #expect(answer.status == 403)
            #expect(answer.problem?.code == "external_account")
        }
    }
}

/// A service with two files of the user, with the framing of the export protocol.
private struct FakeExportService: Transport {
    static let picture = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })

    var isBroken = false

    func send(_ request: ServiceRequest) async throws -> ServiceResponse {
        guard !isBroken else { throw TransportFailure.unanswered }
        let user = request.path.components(separatedBy: "userId=").last ?? ""
        var body = Data()
        for (kind, content) in [
            (1, Data("profile.json".utf8)), (3, Data(#"{"of":"\#(user)"}"#.utf8)), (2, Data("pictures/1.jpg".utf8)),
            (3, Self.picture), (4, Data()),
        ] as [(UInt8, Data)] {
            body.append(kind)
            withUnsafeBytes(of: UInt32(content.count).bigEndian) { body.append(contentsOf: $0) }
            body.append(content)
        }
        return ServiceResponse(status: 200, body: body)
    }
}

private func withExports(
    of exportService: FakeExportService,
    _ body: @Sendable (Auth) async throws -> Void
) async throws {
    let photos = ServiceClient(callee: "photos", transport: exportService, retry: .never)
    try await TestService.with(
        AuthService.self,
        settings: ["TOKEN_ENCRYPTION_KEY": Auth.key, "EVENT_SUBSCRIBERS": "user.deleted=photos"],
        peers: .with(["photos": photos])
    ) { service in try await body(Auth(service: service)) }
}

extension Auth {
    fileprivate func export(_ person: Person) async throws -> TestHTTPResponse {
        try await service.send(.get, "/auth/me/export", token: person.jwt)
    }
}
