import Foundation
import SocialAPI
import Testing
import Wire

@testable import SocialServer

@Suite("Page cache") struct PageCacheTests {
    private func key(_ index: Int) -> PageCache.Key {
        PageCache.Key(source: "ann", list: "thread \(index)", page: nil, includesRaw: false)
    }

    /// A client that requests one empty thread after another must not fill the memory.
    @Test("Empty pages count towards the capacity")
    func emptyPages() {
        let cache = PageCache(capacity: 25_600)
        for index in 0..<200 { cache.insert(NetworkPage([]), for: key(index)) }

        #expect((0..<200).count { cache[key($0)] != nil } <= 100)
        #expect(cache[key(199)] != nil)
        #expect(cache[key(0)] == nil)
    }

    /// Networks that anyone can host send as much as a page may contain.
    @Test("The cache evicts old pages and does not store a page that is too large")
    func capacity() {
        let cache = PageCache(capacity: 1_048_576)
        func page(_ bytes: Int) -> NetworkPage {
            let text = String(repeating: "x", count: bytes)
            let author = ItemAuthor(id: "1", name: text)
            let item = Item(id: ItemID(.mastodon, "1"), kind: .post, author: author, createdAt: .now)
            return NetworkPage([NetworkItem(item)])
        }

        for index in 0..<64 { cache.insert(page(100_000), for: key(index)) }
        cache.insert(page(4_000_000), for: key(64))

        #expect((1...10).contains((0..<64).count { cache[key($0)] != nil }))
        #expect(cache[key(63)] != nil)
        #expect(cache[key(64)] == nil)
    }

    @Test("An expired page is not returned")
    func expiry() {
        let cache = PageCache(lifetime: .zero)
        cache.insert(NetworkPage([]), for: key(0))

        #expect(cache[key(0)] == nil)
    }
}
