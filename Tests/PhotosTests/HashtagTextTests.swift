import Foundation
import Testing

@testable import PhotosServer

@Suite("Hashtags in texts") struct HashtagTextTests {
    @Test(
        "Hashtags of any script are found and folded",
        arguments: [
            ("#dawn", ["dawn"]), ("so #Dawn, #DAWN and #noon.", ["dawn", "noon"]), ("##twice", ["twice"]),
            ("#Straße #STRASSE", ["strasse"]), ("＃全角 ﹟small", ["全角", "small"]), ("#東京タワー、#大阪", ["東京タワー", "大阪"]),
            ("#मुंबई #café #CAFE\u{301}", ["मुंबई", "café"]), ("#العربية", ["العربية"]), ("#ไทย", ["ไทย"]),
            ("#rock-n-roll #c++ #snake_case", ["rock-n-roll", "c++", "snake_case"]), ("#left- right", ["left"]),
            ("#2026 #1st #5k", ["1st", "5k"]), ("#🌅 #love❤️", ["🌅", "love❤"]), ("#one#two", ["one"]),
            ("a#b https://x.example/#top &#39;", []), ("# alone #", []), ("", []), ("#!", []), ("#---", []),
            ("(#in) \"#quotes\" –#dash", ["in", "quotes", "dash"]),
        ]
    )
    func folding(text: String, tags: [String]) {
        #expect(HashtagText.all(in: text) == tags.map { $0.precomposedStringWithCanonicalMapping })
    }

    @Test("A text has at most 30 hashtags")
    func countLimit() {
        let text = (0..<40).map { "#t\($0)" }.joined(separator: " ")
        #expect(HashtagText.all(in: text) == (0..<30).map { "t\($0)" })
    }

    @Test("A hashtag has at most 100 characters")
    func lengthLimit() {
        let (longest, longer) = (String(repeating: "x", count: 100), String(repeating: "x", count: 101))
        #expect(HashtagText.all(in: "#\(longest) #\(longer)") == [longest])
    }

    @Test("Folding a folded hashtag does not change it")
    func idempotence() throws {
        for text in ["#STRASSE", "#ΑΣ", "#İstanbul", "#ﬁne", "#👩‍👩‍👧", "#ⅣX"] {
            let tag = try #require(HashtagText.fold(text))
            #expect(HashtagText.fold(tag) == tag)
            #expect(HashtagText.all(in: "#\(tag)") == [tag])
        }
    }
}
