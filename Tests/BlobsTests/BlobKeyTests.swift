import Blobs
import Testing

@Suite("Blob keys") struct BlobKeyTests {
    @Test("Random keys differ, use the whole alphabet and are read from their text")
    func uniqueKeys() {
        let keys = (0..<10_000).map { _ in BlobKey.random() }
        #expect(Set(keys).count == keys.count)
        #expect(keys.allSatisfy { BlobKey($0.description) == $0 })
        // Every character of the alphabet occurs at every position, so no bit is constant.
        for position in 0..<BlobKey.length {
            let seen = Set(keys.map { Array($0.description)[position] })
            #expect(seen.count == 32, "position \(position)")
        }
    }

    @Test(
        "A malformed key is refused",
        arguments: [
            "", "a", "..", "../../../../../etc/passwd0", "aaaaaaaaaaaaaaaaaaaaaaaaaaa", "Aaaaaaaaaaaaaaaaaaaaaaaaaa",
            "aaaaaaaaaaaaaaaaaaaaaaaaa/", "aaaaaaaaaaaaaaaaaaaaaaaaa\0", "aaaaaaaaaaaaaaaaaaaaaaaa..",
            "1aaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaé", "aaaaaaaaaaaaaaaaaaaaaaaa\r\n",
        ]
    )
    func malformedKey(text: String) {
        #expect(BlobKey(text) == nil)
    }
}
