import Crypto
import Foundation
import Wire

/// A code that gets in once without the authenticator app: 80 random bits, to be written down.
///
/// So many that the hash alone need not be slow.
struct RecoveryCode: Sendable {
    /// How many an account is given.
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

    /// As somebody types it: without hyphens, in small letters, 0 for O and 1 for I; nil for what can be none.
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
