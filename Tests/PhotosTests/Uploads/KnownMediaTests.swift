import Blobs
import Testing
import Wire

@testable import PhotosServer

/// What is served without being looked up.
@Suite struct KnownMediaTests {
    @Test func whatIsGoneIsForgottenAndSoIsEverythingWhereNobodyKnows() async throws {
        let known = KnownMedia()
        let images = (1...600).map(Self.image)
        for image in images { known.note(image) }
        let gone = images[7]
        try await known.check { Set($0).subtracting([gone.key]) }
        #expect(known.count == 599)
        #expect(known.find("\(gone.key)"[...]) == nil)
        #expect(known.find("\(images[0].key)"[...])?.served == images[0])

        await #expect(throws: CancellationError.self) { try await known.check { _ in throw CancellationError() } }
        #expect(known.count == 0)
    }

    @Test func theMostIsBounded() {
        let known = KnownMedia()
        for number in 0...KnownMedia.capacity {
            known.note(Self.image(of: Int64(number)))
        }
        #expect(known.count == KnownMedia.capacity)
    }

    private static func image(of owner: Int64) -> ServedBlob {
        ServedBlob(key: MediaKey(.random(), of: Person.ID(owner)), mediaType: "image/png", size: 1)
    }
}
