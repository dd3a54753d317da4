import Foundation
import Testing

@testable import Images

@Suite struct BlurHashTests {
    struct Vector: Decodable {
        var width: Int
        var height: Int
        var pixels: [UInt8]
        var hash: String
    }

    @Test func referenceVectors() async throws {
        let path = try await Oracle.sample("blurhashes.json")
        let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: URL(filePath: path)))
        #expect(vectors.count == 6)
        for it in vectors {
            #expect(BlurHash.encode(pixels: it.pixels, width: it.width, height: it.height) == it.hash)
        }
    }

    @Test func blackPicture() {
        let hash = BlurHash.encode(pixels: Array(repeating: 0, count: 30), width: 5, height: 2)
        // L is 4 by 3, 0 the greatest part, 0000 the mean colour, fQ a part that is zero.
        #expect(hash == "L00000" + String(repeating: "fQ", count: 11))
    }
}
