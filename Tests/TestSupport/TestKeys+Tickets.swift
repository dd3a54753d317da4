package import Credentials
package import Foundation
import JWTKit
package import Wire

extension TestKeys {
    /// Returns a stream ticket as auth issues it, with optional changes of the header's `type` and of the claims.
    package func ticket(
        for user: User.ID,
        session: String = UUID().uuidString.lowercased(),
        path: String? = nil,
        issued: Date = Date(),
        type: String = StreamTicket.type,
        change: (inout StreamTicket.Claims) -> Void = { _ in }
    ) async throws -> String {
        let seconds = Int64(issued.timeIntervalSince1970)
        var claims = StreamTicket.Claims(
            iss: Self.issuer,
            sub: user.user,
            app: user.application,
            sid: session,
            iat: seconds,
            exp: seconds + StreamTicket.lifetime,
            path: path
        )
        change(&claims)
        let fields: JWTHeader = ["typ": .string(type)]
        let keys = await JWTKeyCollection().add(ecdsa: key, kid: JWKIdentifier(string: kid))
        return try await keys.sign(claims, kid: JWKIdentifier(string: kid), header: fields)
    }
}
