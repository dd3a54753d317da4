import ConversationsAPI
@testable import ConversationsServer
import EventBus
import Foundation
import Postgres
import ServiceHost
import TestSupport
import Testing
import Wire

/// Typing, presence and the table of connected devices.
@Suite("Typing and presence") struct PresenceTests {
    @Test("A user's typing on several devices is delivered once to the other members")
    func typing() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (ana, tablet) = (try await one.connect("ana"), try await two.connect("ana", device: "tablet"))
                let others = [try await one.connect("bo"), try await two.connect("cat")]
                let began = ContinuousClock.now
                for _ in 0..<5 { try await one.delivery.type(in: fixture.conversation.id, by: ana.connection) }
                // Typing on another device, through another instance, counts as the same user.
                try await eventually { others[1].socket.received(.typing).count > 0 }
                try await two.delivery.type(in: fixture.conversation.id, by: tablet.connection)
                try await others[1].send("well", in: fixture.conversation)
                for other in others {
                    try await eventually { other.socket.received(.typing).count > 0 }
                    // One event, and one more for every three seconds that a busy machine took.
                    let received = other.socket.received(.typing).count
                    #expect(received <= 1 + Int(began.duration(to: .now).components.seconds) / 3)
                    #expect(other.socket.received(.typing)[0]["userId"].string == "ana")
                    #expect(other.socket.received(.typing)[0]["chatId"].int == Int(fixture.conversation.id.rawValue))
                }
                try await tablet.waitForMessage(upTo: 1)
                #expect(ana.socket.received(.typing).isEmpty)
                #expect(tablet.socket.received(.typing).isEmpty)
            }
        }
    }

    @Test("Typing is rejected for strangers and across a block")
    func typingRefused() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                let (eve, dan) = (try await one.connect("eve"), try await one.connect("dan"))
                await #expect(throws: Conversations.notFound) {
                    try await one.delivery.type(in: fixture.conversation.id, by: eve.connection)
                }
                let direct = try await one.conversations.openDirect(
                    ConversationDraft(members: ["dan"], type: "direct"),
                    by: eve.connection.user
                )
                try await one.delivery.sweepJoins()
                try await one.delivery.type(in: direct.id, by: eve.connection)
                #expect(dan.socket.received(.typing).count == 1)

                try await fixture.block("dan", by: "eve")
                await #expect(throws: Conversations.blocked) {
                    try await one.delivery.type(in: direct.id, by: dan.connection)
                }
            }
        }
    }

    @Test("A throttle passes each key once per interval")
    func throttle() {
        let now = SharedValue(ContinuousClock.now)
        let throttle = Throttle<Int>(pause: .seconds(3), capacity: 4, now: { now.value })
        #expect((1...8).allSatisfy(throttle.passes))
        #expect(!throttle.passes(8))
        #expect(throttle.isHeld(8))
        now.change { $0 += .milliseconds(2_999) }
        #expect(!throttle.passes(8))
        now.change { $0 += .milliseconds(1) }
        #expect(!throttle.isHeld(8))
        #expect(throttle.passes(8))
        #expect(!throttle.passes(8))
    }

    @Test("Members receive each other's presence once, except across a block")
    func onlineAndOffline() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let (bo, eve) = (try await two.connect("bo"), try await two.connect("eve"))
                try await fixture.block("cat", by: "bo")

                let (ana, again) = (try await one.connect("ana"), try await one.connect("ana", device: "tablet"))
                let cat = try await one.connect("cat")
                try await eventually { bo.socket.presences == ["ana online"] }
                try await eventually { ana.socket.presences.contains("cat online") }
                // Each instance writes its table later than it announces, so one announcement does not imply the other's row.
                try await eventually { try await fixture.connectedDevices().count == 5 }
                #expect(
                    try await one.delivery.presences.presences(in: fixture.conversation.id, for: ana.connection.user)
                        .map { "\($0.user.user) \($0.isOnline)" }.sorted() == ["bo true", "cat true"]
                )

                ana.leave()
                try await one.delivery.devices.announceOffline(at: .now + .seconds(60))
                again.leave()
                cat.leave()
                try await eventually { try await fixture.connectedDevices() == ["bo bo's two", "eve eve's two"] }
                try await one.delivery.devices.announceOffline(at: .now)
                try await one.delivery.devices.announceOffline(at: .now + ConnectedDevices.grace)
                try await eventually { bo.socket.presences == ["ana online", "ana offline"] }

                let seen = try await two.delivery.presences.presences(
                    in: fixture.conversation.id,
                    for: bo.connection.user
                )
                #expect(seen.map(\.user.user) == ["ana"])
                #expect(seen.first?.isOnline == false)
                #expect(seen.first?.lastSeen != nil)
                #expect(eve.socket.received.isEmpty)
            }
        }
    }

    @Test("A user who reconnects within the grace period does not go offline")
    func gracePeriod() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let bo = try await two.connect("bo")
                let ana = try await one.connect("ana")
                try await eventually { bo.socket.presences == ["ana online"] }
                let left = ContinuousClock.now
                ana.leave()
                try await eventually { try await fixture.connectedDevices() == ["bo bo's two"] }
                let back = try await two.connect("ana")
                try await eventually { try await fixture.connectedDevices().count == 2 }
                // On a machine that was delayed longer than the grace period, Ana was really offline.
                let wasAway = left.duration(to: .now) >= ConnectedDevices.grace
                try await one.delivery.devices.announceOffline(at: .now + .seconds(60))
                let cat = try await two.connect("cat")
                try await eventually { bo.socket.presences.contains("cat online") }
                #expect(!bo.socket.presences.contains("ana offline") || wasAway)
                _ = (back, cat)
            }
        }
    }

    @Test("A group of more than 100 members has no presence")
    func largeGroup() async throws {
        try await withStore { fixture in
            try await fixture.withInstances { one, two in
                let people = (0..<101).map { "p\($0)" }
                let large = try await fixture.newConversation(people)
                let (first, second) = (try await one.connect("p0"), try await two.connect("p1"))
                try await eventually { try await fixture.connectedDevices().count == 2 }
                #expect(try await one.delivery.presences.presences(in: large.id, for: first.connection.user).isEmpty)
                let last = try await one.connect("p2")
                try await last.send("hello", in: large)
                try await second.waitForMessage(upTo: 1)
                #expect(second.socket.presences.isEmpty)
            }
        }
    }

    @Test("The devices of an instance whose lease has expired are removed, and return with the instance")
    func expiredInstance() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, two in
                for instance in [one, two] { try await instance.delivery.devices.renew() }
                let (ana, bo) = (try await one.connect("ana"), try await two.connect("bo"))
                for instance in [one, two] { await instance.delivery.devices.write() }
                #expect(try await fixture.isConnected("ana"))

                _ = try await fixture.pool.execute(
                    "UPDATE instances SET lease_until = now() - interval '1 second' WHERE instance_id = 'one'"
                )
                #expect(try await !fixture.isConnected("ana"))
                #expect(try await fixture.isConnected("bo"))
                try await two.delivery.devices.removeExpiredInstances()
                #expect(try await fixture.connectedDevices() == ["bo bo's two"])

                // The instance was only delayed.
                try await one.delivery.devices.renew()
                await one.delivery.devices.write()
                #expect(try await fixture.isConnected("ana"))
                _ = (ana, bo)
            }
        }
    }

    @Test("An instance that stops leaves its lease to end after the grace period")
    func instanceStop() async throws {
        try await withStore { fixture in
            try await fixture.withUnconnectedInstances { one, _ in
                try await one.delivery.devices.renew()
                let before = try await fixture.pool.one(
                    "SELECT clock_timestamp() AS time",
                    as: { try $0.date("time") }
                )
                await one.delivery.devices.end()
                let (until, after) = try await fixture.pool.one(
                    "SELECT lease_until, clock_timestamp() AS time FROM instances",
                    as: { (try $0.date("lease_until"), try $0.date("time")) }
                )
                let grace = Double(ConnectedDevices.grace.components.seconds)
                #expect((before...after).contains(until.addingTimeInterval(-grace)))
            }
        }
    }
}

extension RecordingSocket {
    var presences: [String] {
        received(.presence).map { "\($0["userId"].string ?? "") \($0["status"].string ?? "")" }
    }
}

extension StoreFixture {
    func block(_ blocked: String, by user: String) async throws {
        let blocks = Blocks(
            database: pool,
            users: KnownUsers(auth: FakeAuth.unreachable),
            cursors: conversations.cursors,
            events: .none
        )
        _ = try await blocks.add(blocked, by: Self.user(user))
    }

    /// Returns `user device instance` for each row.
    func connectedDevices() async throws -> [String] {
        try await pool.all(
            "SELECT user_id || ' ' || device_id || ' ' || instance_id AS row FROM connected_devices ORDER BY 1",
            as: { try $0.string("row") }
        )
    }

    /// Returns whether a user's device is connected, with the query of push.
    func isConnected(_ user: String) async throws -> Bool {
        try await pool.one(
            """
            SELECT EXISTS (
                SELECT FROM connected_devices AS devices
                JOIN instances ON instances.instance_id = devices.instance_id
                WHERE devices.application_id = \(Self.application) AND devices.user_id = \(user)
                    AND devices.device_id = \("\(user)'s") AND instances.lease_until > clock_timestamp()
            ) AS found
            """,
            as: { try $0.bool("found") }
        )
    }
}
