import PhotosAPI
import Testing
import Wire

@testable import PhotosServer

/// What is done to texts where the operator wants it.
@Suite struct TextMaskTests {
    @Test(arguments: [
        ("LOOK AT THIS DAWN", "Look at this dawn"), ("wow!!! great", "Wow. Great"),
        ("HELLO THERE! OH MY", "Hello there. Oh my"),
        ("ГРОМКИЙ ТЕКСТ", "Громкий текст"), ("STRAßE UND ÖL", "Straße und öl"),
        // Not shouted.
        ("NASA is here", "NASA is here"), ("Great! Fine!", "Great! Fine!"), ("OK!", "OK!"), ("", ""), ("静かな朝", "静かな朝"),
    ])
    func shouting(text: String, spoken: String) {
        #expect(TextMask(stopsShouting: true).masked(text) == spoken)
        #expect(TextMask().masked(text) == text)
    }

    @Test(arguments: [
        ("a darn cat", "a **** cat"), ("Darn, DARN!", "****, ****!"), ("darning", "darning"), ("ｄａｒｎ", "****"),
        ("#darn", "#****"), ("čert to vem", "**** to vem"), ("fine", "fine"),
    ])
    func maskedWords(text: String, masked: String) {
        #expect(TextMask(words: ["Darn", "ČERT", ""]).masked(text) == masked)
    }

    @Test func createAndUpdate() async throws {
        let settings = ["PHOTOS_MASK_SHOUTING": "1", "PHOTOS_MASK_WORDS": "darn, heck"]
        try await withPhotos(settings: settings) { fixture in
            let post = try await fixture.post("WHAT A DARN #DAWN", by: fixture.ann)
            #expect(post.text == "What a **** #dawn")
            let edited = try await fixture.ann.photos.update(post.postId, PostChanges(text: "heck #heck"))
            #expect(edited.text == "**** #****" && edited.hashtags == [])

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

    @Test func disabledByDefault() async throws {
        try await withPhotos { fixture in
            let post = try await fixture.post("WHAT A DARN DAWN!!!", by: fixture.ann)
            #expect(post.text == "WHAT A DARN DAWN!!!")
        }
    }
}
