import PhotosAPI
import Testing
import Wire

@testable import PhotosServer

/// The changes of texts that the operator can enable.
@Suite("Text mask") struct TextMaskTests {
    @Test(
        "Text in capitals and repeated exclamation marks are toned down",
        arguments: [
            ("LOOK AT THIS DAWN", "Look at this dawn"), ("wow!!! great", "Wow. Great"),
            ("HELLO THERE! OH MY", "Hello there. Oh my"),
            ("ГРОМКИЙ ТЕКСТ", "Громкий текст"), ("STRAßE UND ÖL", "Straße und öl"),
            // These texts stay unchanged.
            ("NASA is here", "NASA is here"), ("Great! Fine!", "Great! Fine!"), ("OK!", "OK!"), ("", ""),
            ("静かな朝", "静かな朝"),
        ]
    )
    func shouting(text: String, spoken: String) {
        #expect(TextMask(stopsShouting: true).masked(text) == spoken)
        #expect(TextMask().masked(text) == text)
    }

    @Test(
        "Masked words are replaced by asterisks, in any case and script",
        arguments: [
            ("a darn cat", "a **** cat"), ("Darn, DARN!", "****, ****!"), ("darning", "darning"), ("ｄａｒｎ", "****"),
            ("#darn", "#****"), ("čert to vem", "**** to vem"), ("fine", "fine"),
        ]
    )
    func maskedWords(text: String, masked: String) {
        #expect(TextMask(words: ["Darn", "ČERT", ""]).masked(text) == masked)
    }

    @Test("New and edited posts, image descriptions and comments are masked")
    func createAndUpdate() async throws {
        let settings = ["PHOTOS_MASK_SHOUTING": "1", "PHOTOS_MASK_WORDS": "darn, heck"]
        try await withPhotos(settings: settings) { fixture in
            let post = try await fixture.post("WHAT A DARN #DAWN", by: fixture.ann)
            #expect(post.text == "What a **** #dawn")
            let edited = try await fixture.ann.photos.update(post.postId, PostChanges(text: "heck #heck"))
            #expect(edited.text == "**** #****")
            #expect(edited.hashtags == [])

            let uploads = try await fixture.uploads(1, of: fixture.ann)
            let described = try await fixture.ann.photos.post(
                PostDraft(images: [ImageDraft(uploadId: uploads[0], alt: "a darn cat")])
            )
            #expect(described.images.map(\.alt) == ["a **** cat"])
            let changes = PostChanges(images: [ImageChanges(alt: .set("a heck of a cat"))])
            let updated = try await fixture.ann.photos.update(described.postId, changes)
            #expect(updated.images.map(\.alt) == ["a **** of a cat"])

            let comment = try await fixture.bob.photos.comment("OH HECK!!! NO", on: post.postId)
            #expect(comment.text == "Oh ****. No")
            let changed = try await fixture.bob.photos.update(comment.commentId, on: post.postId, to: "DARN darn")
            #expect(changed.text == "**** ****")
        }
    }

    @Test("Texts are not changed by default")
    func disabledByDefault() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("WHAT A DARN DAWN!!!", by: fixture.ann)
            #expect(post.text == "WHAT A DARN DAWN!!!")
        }
    }
}
