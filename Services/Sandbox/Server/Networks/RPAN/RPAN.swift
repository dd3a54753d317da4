import Foundation
import NIOHTTP1
import Wire

/// `strapi.reddit.com`: the public list of live broadcasts, with errors in the body.
struct RPAN: FakeNetwork {
    let service = SandboxService.rpan
    let community: Community
    let grants: Grants
    let clock: SandboxClock
    let broadcasts: Broadcasts

    init(_ parts: NetworkParts, broadcasts: Broadcasts) {
        clock = parts.clock
        grants = Grants(clock: parts.clock)
        community = Community(
            seed: {
                var seed = CommunitySeed(offset: 0); seed.posts = 0; return seed
            }(),
            ids: .serial(from: 1, step: 1),
            clock: parts.clock
        )
        self.broadcasts = broadcasts
    }

    func account(_ person: Person) -> NetworkAccount {
        NetworkAccount(name: person.name, id: String(person.id), accessToken: fixedToken(person))
    }

    /// Returns nil, because requests need no authentication.
    func caller(of request: NetworkRequest) throws -> Caller? { nil }

    func budget(for request: NetworkRequest, by caller: Caller?) -> RateBudget? {
        RateBudget(name: "all", limit: 60, window: 60)
    }

    func fields(of limitStatus: RateLimitStatus, at time: Date) -> HTTPHeaders { [:] }

    func errorResponse(_ failure: NetworkFailure, of request: NetworkRequest) -> WebResponse {
        switch failure {
        case .limited: .jsonValue(["status": "failure", "data": "please wait a moment and try again"])
        case .unavailable(let status):
            WebResponse.html("<h1>\(status)</h1>", status: HTTPResponseStatus(statusCode: status))
        case .expired: .jsonValue(["status": "failure", "data": "unauthorized"], .unauthorized)
        case .other(let status, let reason):
            .jsonValue(["status": "failure", "data": .string(reason)], HTTPResponseStatus(statusCode: status))
        case .notFound: .jsonValue(["status": "video not found", "status_message": "video not found"], .notFound)
        }
    }

    func reply(to request: NetworkRequest, by caller: Caller?) throws -> ResponseAction {
        guard request.method == .GET, ["broadcasts", "videos"].contains(request.path.first ?? "") else {
            return .response(errorResponse(.notFound, of: request))
        }
        if request.path.count == 1 {
            broadcasts.countPoll()
            let all = request.returnsEmptyPage ? [] : broadcasts.live
            let found = all.prefix(request.limit("page_size", standard: 100, most: 100))
            return .response(envelope(.list(found.enumerated().map { item($1, rank: $0 + 1, of: all.count, request) })))
        }
        guard request.path.count == 2, let broadcast = broadcasts.find(request.path[1]) else {
            return .response(errorResponse(.notFound, of: request))
        }
        return .response(envelope(item(broadcast, rank: 1, of: broadcasts.live.count, request)))
    }

    private func envelope(_ data: JSONValue) -> WebResponse {
        .jsonValue(["status": "success", "status_message": "", "next_cursor": "", "data": data])
    }

    /// Returns a list item.
    ///
    /// As in the original, field names are snake_case outside of `post` and camelCase inside.
    private func item(_ broadcast: SandboxBroadcast, rank: Int, of total: Int, _ request: NetworkRequest) -> JSONValue {
        let passed = (broadcast.endedAt ?? clock.now).timeIntervalSince(broadcast.startedAt)
        let link = "https://www.reddit.com/rpan/r/\(broadcast.community)/\(broadcast.id.dropFirst(3))"
        return [
            "rank": .int(rank), "global_rank": .int(rank), "rank_in_subreddit": 1, "total_streams": .int(total),
            "total_streams_in_subreddit": 1, "upvotes": 123, "downvotes": 4,
            "unique_watchers": .int(broadcast.watchers * 7), "continuous_watchers": .int(broadcast.watchers),
            "total_continuous_watchers": .int(broadcast.watchers), "is_first_broadcast": false,
            "chat_disabled": false, "broadcast_time": .number(passed),
            "estimated_remaining_time": .number(max(0, 10_800 - passed)),
            "meter": ["enabled": true, "full_meter_duration": 300, "proportion_full": .number(0.42)],
            "share_link": .string(link), "post": post(broadcast, link: link, request),
            "stream": stream(broadcast, request),
        ]
    }

    private func post(_ broadcast: SandboxBroadcast, link: String, _ request: NetworkRequest) -> JSONValue {
        let author = broadcast.broadcaster.map { name -> JSONValue in
            ["id": .string("t2_\(StableText.base32(of: name, length: 5))"), "name": .string(name)]
        }
        let icon = JSONValue.string("\(request.origin)/sandbox/media/500001")
        let subreddit: JSONValue = [
            "__typename": "Subreddit", "id": .string("t5_\(StableText.base32(of: broadcast.community, length: 5))"),
            "name": .string(broadcast.community), "prefixedName": .string("r/\(broadcast.community)"),
            "path": .string("/r/\(broadcast.community)/"), "title": .string(broadcast.community), "type": "PUBLIC",
            "subscribers": .number(250_000), "isNSFW": false, "isQuarantined": false,
            "styles": [
                "icon": icon, "primaryColor": "#FF4500",
                "legacyIcon": ["url": icon, "dimensions": ["width": 256, "height": 256]],
            ],
        ]
        let award: JSONValue = [
            "id": "award_1", "name": "Rocket", "awardType": "GLOBAL", "awardSubType": "GLOBAL", "coinPrice": 50,
            "icon_16": ["url": icon], "icon_128": ["url": icon],
        ]
        return [
            "id": .string(broadcast.id), "title": .string(broadcast.title), "url": .string(link),
            "permalink": .string("/r/\(broadcast.community)/comments/\(broadcast.id.dropFirst(3))/live/"),
            "outboundLink": ["url": .string(link), "expiresAt": .null], "authorInfo": author ?? .null,
            "subreddit": subreddit, "awardings": [["award": award, "total": 2]],
            "liveCommentsWebsocket": .string("wss://ws-0f.wss.redditmedia.com/link/\(broadcast.id.dropFirst(3))?m=x"),
            "commentCount": .number(31.5), "score": 119, "upvoteRatio": .number(0.97), "voteState": "NONE",
            "suggestedCommentSort": "LIVE", "isNsfw": false, "isLocked": false, "isArchived": false,
            "isSpoiler": false,
        ]
    }

    private func stream(_ broadcast: SandboxBroadcast, _ request: NetworkRequest) -> JSONValue {
        let began = Int(broadcast.startedAt.timeIntervalSince1970)
        let id = StableText.base32(of: broadcast.id, length: 8)
        let ended = broadcast.endedAt.map { JSONValue.int(Int($0.timeIntervalSince1970)) } ?? .null
        return [
            "stream_id": .string(id), "hls_url": .string("https://watch.redd.it/hls/\(id)/index.m3u8"),
            "publish_at": broadcast.isPublished ? .int(began) : .null, "hls_exists_at": .int(began + 7),
            "update_at": .int(began + 60), "publish_done_at": ended, "ended_at": ended, "ended_reason": .null,
            "finished_by": .null, "killed_at": .null, "purged_at": .null, "vod_accessible": true,
            "thumbnail": .string("\(request.origin)/sandbox/media/500001"), "width": 720, "height": 1_280,
            "state": broadcast.endedAt == nil ? "IS_LIVE" : "ENDED", "duration_limit": 10_800,
        ]
    }
}
