import Foundation
import ServiceHost
import SocialAPI
import Wire

/// Reads a list of all of somebody's networks as one: all asked at once, what fails told beside what came.
struct Reading: Sendable {
    /// How much of a list is wanted.
    struct Request: Sendable {
        var limit = 20
        var cursor: String?
        var includesRaw = false
    }

    /// So many pages of one network are asked for at most, for a page of ours.
    private static let maximumPages = 12
    /// Of a cursor, in characters: those of nine networks, each of its own kind.
    static let maximumCursor = 16_384

    let sources: Sources
    let asking: Asking
    let cache: PageCache
    let identities: Identities
    let cursors: CursorSigner

    /// A page of a list over all networks that have it.
    func read(_ list: ReadList, _ request: Request, for asker: Asker) async throws -> SocialAnswer {
        try await read(list, request, of: sources.all(for: asker), for: asker)
    }

    /// A page of a thread's messages, the newest last; without a cursor the latest.
    func messages(
        of thread: String,
        on network: Network,
        _ request: Request,
        for asker: Asker
    ) async throws -> SocialAnswer {
        let source = try await sources.one(network, for: asker)
        return try await read(.messages(network: network, thread: thread), request, of: [source], for: asker)
    }

    private func read(
        _ list: ReadList,
        _ request: Request,
        of sources: [Source],
        for asker: Asker
    ) async throws -> SocialAnswer {
        let position = try request.cursor.map { try scroll($0, of: list, for: asker) } ?? ScrollPosition()
        let able = sources.filter { $0.connector.abilities(of: $0.account).able.contains(list.capability) }
        var weave = Weave(
            able.map { Strand($0, at: position.places[$0.network]) },
            limit: request.limit
        )
        var rounds = 0
        while !weave.hungry.isEmpty, rounds < Self.maximumPages {
            rounds += 1
            await feed(&weave, list, request)
            try Task.checkCancellation()
            weave.advance()
        }
        // Who gives nothing but empty pages holds up nobody; where pages are small, this one is not full.
        for index in weave.hungry where weave.strands[index].barren >= Self.maximumPages {
            weave.change(index) { $0.failure = NetworkError(.transient, "the network gives empty pages") }
        }
        weave.advance()
        return try answer(weave, list, for: asker)
    }

    /// Asks all strands that are hungry, at once.
    private func feed(_ weave: inout Weave, _ list: ReadList, _ request: Request) async {
        await withTaskGroup(of: (Int, Strand).self) { tasks in
            for index in weave.hungry {
                let strand = weave.strands[index]
                tasks.addTask { (index, await fed(strand, list, request)) }
            }
            for await (index, strand) in tasks { weave.change(index) { $0 = strand } }
        }
    }

    /// A strand with its next page, or with what went wrong.
    private func fed(_ strand: Strand, _ list: ReadList, _ request: Request) async -> Strand {
        var strand = strand
        let wanted = strand.wanted
        var key = PageCache.Key(
            source: strand.source.key,
            list: list.name,
            page: wanted,
            includesRaw: request.includesRaw
        )
        if strand.knowsPage, let page = cache[key] {
            strand.take(page)
            return strand
        }
        let start = ContinuousClock.now
        do {
            try await identities.complete(&strand.source, asking, within: asking.deadline - strand.spent)
            let asked = PageRequest(cursor: wanted, limit: request.limit, includesRaw: request.includesRaw)
            let left = asking.deadline - strand.spent - start.duration(to: .now)
            let page = try await asking.ask(&strand.source, within: left) { connector, account in
                try await list.page(asked, of: connector, as: account)
            }
            key.source = strand.source.key
            cache.insert(page, for: key)
            strand.take(page)
        } catch {
            strand.failure = NetworkError(error, isWrite: false)
        }
        strand.spent += start.duration(to: .now)
        return strand
    }

    private func answer(_ weave: Weave, _ list: ReadList, for asker: Asker) throws -> SocialAnswer {
        let reports = weave.strands.map { ($0.source.network, $0.failure.map(NetworkReport.init) ?? .fine) }
        // A network that will not answer however often it is asked keeps nobody scrolling.
        let hasMore = weave.strands.contains { $0.hasMore && $0.failure?.isLasting != true }
        return SocialAnswer(
            items: list.isNewestLast ? weave.items.reversed() : weave.items,
            networks: Dictionary(uniqueKeysWithValues: reports),
            next: hasMore ? try cursors.sign(weave.position, of: list.name, for: asker.user) : nil
        )
    }

    private func scroll(_ cursor: String, of list: ReadList, for asker: Asker) throws -> ScrollPosition {
        try cursors.position(cursor, of: list.name, for: asker.user, upTo: Self.maximumCursor)
    }
}

extension NetworkError {
    /// Whether asking again will not help until somebody does something.
    var isLasting: Bool {
        switch kind {
        case .auth, .permission, .invalid, .notFound, .unsupported: true
        case .rateLimited, .transient, .unknownOutcome: false
        }
    }
}
