import Blobs
import Testing

@Suite struct BlobKeyTests {
    @Test func keysDifferAndAreTakenBack() {
        let keys = (0..<10_000).map { _ in BlobKey.random() }
        #expect(Set(keys).count == keys.count)
        #expect(keys.allSatisfy { BlobKey($0.description) == $0 })
        // Every character of the alphabet in every place: no bit is stuck.
        for place in 0..<BlobKey.length {
            let seen = Set(keys.map { Array($0.description)[place] })
            #expect(seen.count == 32, "place \(place)")
        }
    }

    @Test(arguments: [
        "", "a", "..", "../../../../../etc/passwd0", "aaaaaaaaaaaaaaaaaaaaaaaaaaa", "Aaaaaaaaaaaaaaaaaaaaaaaaaa",
        "aaaaaaaaaaaaaaaaaaaaaaaaa/", "aaaaaaaaaaaaaaaaaaaaaaaaa\0", "aaaaaaaaaaaaaaaaaaaaaaaa..",
        "1aaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaé", "aaaaaaaaaaaaaaaaaaaaaaaa\r\n",
    ])
    func malformedKey(text: String) {
        #expect(BlobKey(text) == nil)
    }
}
