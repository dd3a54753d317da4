import Blobs
import Testing
import Wire

@testable import PhotosServer

/// Cached responses are served without a database query.
@Suite("Media cache") struct MediaCacheTests {
    @Test("Revalidation removes deleted images, and a failed one removes all")
    func revalidation() async throws {
        let cache = MediaCache()
        let images = (1...600).map(Self.image)
        for image in images { cache.insert(image) }
        let gone = images[7]
        try await cache.revalidate { Set($0).subtracting([gone.key]) }
        #expect(cache.count == 599)
        #expect(cache.find("\(gone.key)"[...]) == nil)
        #expect(cache.find("\(images[0].key)"[...])?.served == images[0])

        await #expect(throws: CancellationError.self) { try await cache.revalidate { _ in throw CancellationError() } }
        #expect(cache.count == 0)
    }

    @Test("The cache holds at most its capacity")
    func capacity() {
        let cache = MediaCache()
        for number in 0...MediaCache.capacity {
            cache.insert(Self.image(of: Int64(number)))
        }
        #expect(cache.count == MediaCache.capacity)
    }

    private static func image(of owner: Int64) -> ServedBlob {
        ServedBlob(key: MediaKey(.random(), of: Person.ID(owner)), mediaType: "image/png", size: 1)
    }
}
