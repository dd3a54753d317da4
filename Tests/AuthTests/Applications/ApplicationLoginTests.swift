import AuthAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@testable import AuthServer

@Suite("Sign-in to applications") struct ApplicationLoginTests {
    @Test("A token of the account server signs a user in")
    func signIn() async throws {
        try await withCustomer { acme in
            let claims = acme.claims("ada@example.com", nonce: try await acme.nonce())
            let answer = try await acme.login(try acme.token(claims), device: "ada.device.0")

            #expect(answer.status == 200)
            #expect(answer.headers[.cacheControl] == "no-store")
            #expect(answer.json["userId"].string == "ada@example.com")
            #expect(answer.json["deviceId"].string == "ada.device.0")
            let session = try #require(answer.json["session"].string)
            #expect(session.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil)
            let sessions = try await acme.request(.get, "/auth/sessions", session: session).json["sessions"].array
            #expect(sessions.count == 1)
            #expect(sessions[0]["deviceId"].string == "ada.device.0")
            #expect(sessions[0]["current"].bool == true)
        }
    }

    @Test("A user id is any text of up to 255 characters and comes back unchanged")
    func subjects() async throws {
        try await withCustomer { acme in
            let names = [
                "1", "ada", "+49 30 1234", "é", "e\u{301}", "a/b?c#d", " ", "\u{1F469}\u{200D}\u{1F4BB}", "\u{1}",
            ]
            for name in names {
                let answer = try await acme.login(acme.token(acme.claims(name, nonce: acme.nonce())))
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.json["userId"].string?.unicodeScalars.elementsEqual(name.unicodeScalars) == true)
            }
            let longest = String(repeating: "é", count: 255)
            #expect(try await acme.status(of: try await acme.signIn(longest)) == 200)
        }
    }

    /// The precomposed and the decomposed form of a letter are equal as String, but two users of a customer.
    @Test("Ids that differ only in Unicode normalization are different users")
    func lookalikeSubjects() async throws {
        try await withCustomer { acme in
            let one = try await acme.signIn("é")
            let other = try await acme.signIn("e\u{301}")
            #expect(try await acme.status(of: one) == 200)
            for session in [one, other] {
                let sessions = try await acme.request(.get, "/auth/sessions", session: session).json["sessions"].array
                #expect(sessions.count == 1)
            }
        }
    }

    @Test("A nonce signs in once")
    func singleUseNonce() async throws {
        try await withCustomer { acme in
            let nonce = try await acme.nonce()
            let token = try acme.token(acme.claims("ada", nonce: nonce))
            #expect(try await acme.login(token).status == 200)

            let again = try await acme.login(token)
            #expect(again.status == 401)
            #expect(again.problem?.code == "nonce_used")
            let forBo = try await acme.login(try acme.token(acme.claims("bo", nonce: nonce)))
            #expect(forBo.status == 401)
            #expect(forBo.problem?.code == "nonce_used")
        }
    }

    @Test("Of concurrent logins with one token at two instances, one succeeds")
    func concurrentLogins() async throws {
        try await withTwoAuths { first, second in
            let acme = try await first.customer(by: try await first.administrator().jwt)
            for _ in 0..<5 {
                let token = try acme.token(acme.claims("ada", nonce: try await acme.nonce()))
                let body = json(["authToken": .string(token), "deviceId": "phone"])
                let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<12 {
                        group.addTask {
                            try await (number.isMultiple(of: 2) ? first : second).service
                                .send(.post, "/1/auth/login", body: body, headers: acme.headers).status
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses.sorted() == [200] + Array(repeating: 401, count: 11))
            }
        }
    }

    @Test("A login that fails for another reason does not use the nonce up")
    func rejectedTokenKeepsNonce() async throws {
        try await withCustomer { acme in
            let nonce = try await acme.nonce()
            var claims = acme.claims("ada", nonce: nonce)
            claims["iss"] = "someone"
            #expect(try await acme.login(try acme.token(claims)).status == 401)
            #expect(try await acme.login(try acme.token(acme.claims("ada", nonce: nonce))).status == 200)
        }
    }

    @Test("A nonce is valid for its application, for ten minutes")
    func nonceScope() async throws {
        let clock = TestClock()
        try await withCustomer(clock: clock) { acme in
            let other = try await acme.auth.customer("Other", by: acme.admin)
            let nonces = [try await acme.nonce(), try await acme.nonce()]
            func code(_ customer: Customer, _ nonce: String) async throws -> String? {
                try await customer.login(customer.token(customer.claims("ada", nonce: nonce, now: clock.now))).problem?
                    .code
            }
            #expect(try await code(other, nonces[0]) == "unknown_nonce")
            #expect(try await code(acme, "123asdf123asdf12321adf") == "unknown_nonce")
            #expect(try await code(acme, "") == "unknown_nonce")
            #expect(try await code(acme, String(nonces[0].reversed())) == "unknown_nonce")
            clock.advance(seconds: 599)
            #expect(try await code(acme, nonces[0]) == nil)
            clock.advance(seconds: 1)
            #expect(try await code(acme, nonces[1]) == "nonce_expired")
        }
    }

    @Test("The application's id and key are required and must match")
    func applicationHeaders() async throws {
        try await withCustomer { acme in
            let other = try await acme.auth.customer("Other", by: acme.admin)
            let headers: [(HTTPFields, String)] = [
                ([:], "missing_application"), (Customer.headers(acme.id, nil), "missing_application"),
                (Customer.headers(nil, acme.applicationKey), "missing_application"),
                (acme.headers + acme.headers, "missing_application"),
                (Customer.headers(acme.id, other.applicationKey), "application_not_found"),
                (Customer.headers("nothing", acme.applicationKey), "application_not_found"),
                (Customer.headers("roost", acme.applicationKey), "application_not_found"),
                (Customer.headers(acme.id, ""), "application_not_found"),
            ]
            let token = try acme.token(acme.claims("ada", nonce: try await acme.nonce()))
            let body = json(["authToken": .string(token), "deviceId": "phone"])
            for (fields, code) in headers {
                let nonce = try await acme.auth.service.send(.get, "/1/auth/nonce", headers: fields)
                #expect(nonce.status == 403)
                #expect(nonce.problem?.code == code)
                let login = try await acme.auth.service.send(.post, "/1/auth/login", body: body, headers: fields)
                #expect(login.status == 403)
                #expect(login.problem?.code == code)
            }
            // A token of one application is invalid for another.
            let elsewhere = try await acme.auth.service.send(.post, "/1/auth/login", body: body, headers: other.headers)
            #expect(elsewhere.status == 401)
            #expect(try await acme.login(token).status == 200)
        }
    }

    @Test("An invalid field is a 400 that names it")
    func invalidFields() async throws {
        try await withCustomer { acme in
            let token = try acme.token(acme.claims("ada", nonce: try await acme.nonce()))
            let changes: [(String, JSONValue?, String)] = [
                ("authToken", nil, "missing_field"), ("authToken", "", "missing_field"),
                ("authToken", .integer(1), "invalid_type"),
                ("authToken", .string(String(repeating: "x", count: 8_193)), "auth_token_length"),
                ("deviceId", nil, "missing_field"), ("deviceId", "", "missing_field"),
                ("deviceId", "a\nb", "malformed_device_id"),
                ("deviceId", .string(String(repeating: "x", count: 256)), "malformed_device_id"),
                ("platform", "", "missing_field"), ("platform", "apns", "unknown_platform"),
                ("platform", .integer(1), "invalid_type"), ("pushToken", "", "missing_field"),
                ("pushToken", .string(String(repeating: "x", count: 4_097)), "push_token_length"),
            ]
            for (name, value, code) in changes {
                var body: [String: JSONValue] = [
                    "authToken": .string(token), "deviceId": "phone", "platform": "gcm", "pushToken": "t",
                ]
                body[name] = value
                let answer = try await acme.auth.service
                    .send(.post, "/1/auth/login", body: json(body), headers: acme.headers)
                #expect(answer.status == 400, "\(name): \(answer.text)")
                #expect(answer.problem?.code == code, "\(name): \(answer.text)")
                #expect(answer.problem?.field == name)
            }
            let lone = try await acme.login(token, more: ["pushToken": "t"])
            #expect(lone.status == 400)
            #expect(lone.problem?.field == "platform")
            let other = json(["jwt": .string(token), "deviceId": "phone", "platform": .null, "pushToken": .null])
            #expect(
                try await acme.auth.service.send(.post, "/1/auth/login", body: other, headers: acme.headers).status
                    == 200
            )
        }
    }
}
