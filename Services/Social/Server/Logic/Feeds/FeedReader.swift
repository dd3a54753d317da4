import Foundation
import ServiceHost
import SocialAPI
import Wire

/// Reads a list from all of a user's networks in parallel, and reports failures beside the items.
struct FeedReader: Sendable {
    struct Request: Sendable {
        var limit = 20
        var cursor: String?
        var includesRaw = false
    }

    /// The maximum number of pages to fetch from one network for one page here.
    private static let maximumPages = 12
    /// The maximum length of a cursor, in characters: it contains the cursors of nine networks.
    static let maximumCursor = 16_384

    let sources: Sources
    let networkGateway: NetworkGateway
    let cache: PageCache
    let identities: Identities
    let cursors: CursorSigner

    /// Returns a page of a list across all networks that support it.
    func read(_ list: ReadList, _ request: Request, for caller: Caller) async throws -> SocialResponse {
        try await read(list, request, of: sources.all(for: caller), for: caller)
    }

    /// Returns a page of a thread's messages, the newest last; without a cursor the latest page.
    func messages(
        of thread: String,
        on network: Network,
        _ request: Request,
        for caller: Caller
    ) async throws -> SocialResponse {
        let source = try await sources.require(network, for: caller)
        return try await read(.messages(network: network, thread: thread), request, of: [source], for: caller)
    }

    private func read(
        _ list: ReadList,
        _ request: Request,
        of sources: [Source],
        for caller: Caller
    ) async throws -> SocialResponse {
        let position = try request.cursor.map { try scroll($0, of: list, for: caller) } ?? ScrollPosition()
        let supported = sources.filter {
            $0.connector.accountCapabilities(of: $0.account).supported.contains(list.capability)
        }
        var merger = FeedMerger(
            supported.map { SourceCursor($0, at: position.positions[$0.network]) },
            limit: request.limit
        )
        var rounds = 0
        while !merger.indicesNeedingPage.isEmpty, rounds < Self.maximumPages {
            rounds += 1
            await fetchPages(&merger, list, request)
            try Task.checkCancellation()
            merger.emitReady()
        }
        // A network that only gives empty pages must not delay the others. Where its pages are small, this page is not
        // full.
        for index in merger.indicesNeedingPage where merger.sourceCursors[index].emptyPages >= Self.maximumPages {
            merger.update(index) { $0.failure = NetworkError(.transient, "the network gives empty pages") }
        }
        merger.emitReady()
        return try response(merger, list, for: caller)
    }

    /// Fetches the next pages of all source cursors that need them, in parallel.
    private func fetchPages(_ merger: inout FeedMerger, _ list: ReadList, _ request: Request) async {
        await withTaskGroup(of: (Int, SourceCursor).self) { tasks in
            for index in merger.indicesNeedingPage {
                let sourceCursor = merger.sourceCursors[index]
                tasks.addTask { (index, await fetchPage(sourceCursor, list, request)) }
            }
            for await (index, sourceCursor) in tasks { merger.update(index) { $0 = sourceCursor } }
        }
    }

    /// Returns a source cursor with its next page, or with the error.
    private func fetchPage(_ sourceCursor: SourceCursor, _ list: ReadList, _ request: Request) async -> SourceCursor {
        var sourceCursor = sourceCursor
        let pageCursor = sourceCursor.pageCursor
        var key = PageCache.Key(
            source: sourceCursor.source.key,
            list: list.name,
            page: pageCursor,
            includesRaw: request.includesRaw
        )
        if sourceCursor.hasReadPage, let page = cache[key] {
            sourceCursor.append(page)
            return sourceCursor
        }
        let start = ContinuousClock.now
        do {
            try await identities.complete(
                &sourceCursor.source,
                networkGateway,
                within: networkGateway.deadline - sourceCursor.spent
            )
            let pageRequest = PageRequest(cursor: pageCursor, limit: request.limit, includesRaw: request.includesRaw)
            let left = networkGateway.deadline - sourceCursor.spent - start.duration(to: .now)
            let page = try await networkGateway.call(&sourceCursor.source, within: left) { connector, account in
                try await list.page(pageRequest, of: connector, as: account)
            }
            key.source = sourceCursor.source.key
            cache.insert(page, for: key)
            sourceCursor.append(page)
        } catch {
            sourceCursor.failure = NetworkError(error, isWrite: false)
        }
        sourceCursor.spent += start.duration(to: .now)
        return sourceCursor
    }

    private func response(_ merger: FeedMerger, _ list: ReadList, for caller: Caller) throws -> SocialResponse {
        let reports = merger.sourceCursors.map { ($0.source.network, $0.failure.map(NetworkReport.init) ?? .ok) }
        // A network with a lasting error must not keep the client scrolling.
        let hasMore = merger.sourceCursors.contains { $0.hasMore && $0.failure?.isLasting != true }
        return SocialResponse(
            items: list.isNewestLast ? merger.items.reversed() : merger.items,
            networks: Dictionary(uniqueKeysWithValues: reports),
            next: hasMore ? try cursors.sign(merger.position, of: list.name, for: caller.user) : nil
        )
    }

    private func scroll(_ cursor: String, of list: ReadList, for caller: Caller) throws -> ScrollPosition {
        try cursors.position(cursor, of: list.name, for: caller.user, upTo: Self.maximumCursor)
    }
}

extension NetworkError {
    /// Whether a retry fails until the user or the operator changes something.
    var isLasting: Bool {
        switch kind {
        case .auth, .permission, .invalid, .notFound, .unsupported: true
        case .rateLimited, .transient, .unknownOutcome: false
        }
    }
}
