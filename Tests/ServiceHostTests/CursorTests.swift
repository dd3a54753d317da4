import Credentials
import ServiceHost
import Testing
import TestSupport
import Wire

@Suite struct CursorTests {
    private struct Position: Codable, Equatable { var seq: Int }
    private let alice = User.ID(application: "a", user: "bc")
    private let other = User.ID(application: "ab", user: "c")

    @Test func aCursorComesBackToItsListAndUserAlone() throws {
        let signer = CursorSigner(secrets: [TestService.secret])
        let cursor = try signer.sign(Position(seq: 7), of: "list", for: alice)

        #expect(try signer.position(cursor, of: "list", for: alice, as: Position.self) == Position(seq: 7))
        #expect(throws: APIError.self) { try signer.position(cursor, of: "list", for: other, as: Position.self) }
        #expect(throws: APIError.self) { try signer.position(cursor, of: "other", for: alice, as: Position.self) }
        for forged in ["", "x", String(cursor.dropLast()), "A" + cursor, String(repeating: "A", count: 2_000)] {
            #expect(throws: APIError.self) { try signer.position(forged, of: "list", for: alice, as: Position.self) }
        }
    }
}
