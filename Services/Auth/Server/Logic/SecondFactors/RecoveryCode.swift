import Crypto
import Foundation
import Wire

/// A single-use code that replaces the authenticator app: 80 random bits for the user to write down.
///
/// With 80 bits a fast hash is sufficient.
struct RecoveryCode: Sendable {
    static let count = 10
    private static let length = 16

    /// `ABCD-EFGH-IJKL-MNOP`.
    let text: String
    private let bare: String

    static func random() -> RecoveryCode {
        let bytes = SymmetricKey(size: .init(bitCount: 80)).withUnsafeBytes { Data($0) }
        return RecoveryCode(bare: Base32.encode(bytes))
    }

    private init(bare: String) {
        self.bare = bare
        let groups = stride(from: 0, to: bare.count, by: 4).map { start in bare.dropFirst(start).prefix(4) }
        text = groups.joined(separator: "-")
    }

    /// Parses user input without hyphens, in lower case, or with 0 for O and 1 for I; returns nil for an invalid code.
    init?(typed text: String) {
        guard text.utf8.count <= 64 else { return nil }
        let bare = text.uppercased().filter { $0 != "-" && $0 != " " }.replacing("0", with: "O").replacing(
            "1",
            with: "I"
        )
        guard bare.utf8.count == Self.length else { return nil }
        self.init(bare: bare)
    }

    func hash(for account: UUID) -> Data {
        Data(SHA256.hash(data: Data("\(account.wire):\(bare)".utf8)))
    }
}
