import Credentials
import ServiceHost
import Testing
import TestSupport
import Wire

@Suite("Cursors") struct CursorTests {
    private struct Position: Codable, Equatable { var seq: Int }
    private let ana = User.ID(application: "a", user: "bc")
    private let other = User.ID(application: "ab", user: "c")

    @Test("A cursor is valid only for its list and user, and unchanged")
    func scope() throws {
        let signer = CursorSigner(secrets: [TestService.secret])
        let cursor = try signer.sign(Position(seq: 7), of: "list", for: ana)

        #expect(try signer.position(cursor, of: "list", for: ana, as: Position.self) == Position(seq: 7))
        #expect(throws: APIError.self) { try signer.position(cursor, of: "list", for: other, as: Position.self) }
        #expect(throws: APIError.self) { try signer.position(cursor, of: "other", for: ana, as: Position.self) }
        for forged in ["", "x", String(cursor.dropLast()), "A" + cursor, String(repeating: "A", count: 2_000)] {
            #expect(throws: APIError.self) { try signer.position(forged, of: "list", for: ana, as: Position.self) }
        }
    }
}
