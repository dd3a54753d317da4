import Foundation
import Testing

@testable import Images

@Suite("BlurHash") struct BlurHashTests {
    struct Vector: Decodable {
        var width: Int
        var height: Int
        var pixels: [UInt8]
        var hash: String
    }

    @Test("Hashes equal those of the reference implementation")
    func referenceVectors() async throws {
        let path = try await Oracle.sample("blurhashes.json")
        let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: URL(filePath: path)))
        #expect(vectors.count == 6)
        for vector in vectors {
            let hash = BlurHash.encode(pixels: vector.pixels, width: vector.width, height: vector.height)
            #expect(hash == vector.hash)
        }
    }

    @Test("A black picture has a hash of zeros")
    func blackPicture() {
        let hash = BlurHash.encode(pixels: Array(repeating: 0, count: 30), width: 5, height: 2)
        // "L" means 4 by 3 components, "0" the maximum, "0000" the mean colour, and "fQ" a component of zero.
        #expect(hash == "L00000" + String(repeating: "fQ", count: 11))
    }
}
