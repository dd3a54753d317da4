import NIOCore

/// An object with a deadline on a timer wheel.
protocol Timed: AnyObject {
    /// The turn at which the wheel checks the object; 0 if it is not on the wheel.
    var turn: UInt64 { get set }
    /// The next deadline; nil if there is none.
    var nextDeadline: NIODeadline? { get }
    /// Handles deadlines that have passed.
    func check(_ now: NIODeadline)
}

/// A timer for the deadlines of all objects on one event loop.
///
/// Postponing a deadline, as heartbeats always do, costs nothing: the wheel checks the object at the old time and moves
/// it to the slot of the new one. The timer runs only while the wheel has objects.
final class TimerWheel {
    private let eventLoop: any EventLoop
    private let step: Int64
    private var slots: [ContiguousArray<any Timed>]
    private var count = 0
    private var now: UInt64 = 1
    private var began: NIODeadline
    private var isTurning = false

    /// Creates a wheel that may notice a deadline late by one step.
    init(eventLoop: any EventLoop, step: TimeAmount) {
        self.eventLoop = eventLoop
        self.step = step.nanoseconds
        began = eventLoop.now
        slots = Array(repeating: [], count: 512)
    }

    /// Checks the object at its next deadline, or earlier if it is already on the wheel.
    func watch(_ owner: any Timed) {
        guard let deadline = owner.nextDeadline else { return }
        if !isTurning { start() }
        let nanoseconds = max(0, (deadline - began).nanoseconds)
        let turn = max(now + 1, UInt64((nanoseconds + step - 1) / step))
        if owner.turn > now, owner.turn <= turn { return }
        insert(owner, at: turn)
    }

    private func insert(_ owner: any Timed, at turn: UInt64) {
        // A deadline beyond one revolution of the wheel is checked once per revolution.
        let turn = min(turn, now + UInt64(slots.count) - 1)
        owner.turn = turn
        slots[Int(turn % UInt64(slots.count))].append(owner)
        count += 1
    }

    private func start() {
        isTurning = true
        began = eventLoop.now - .nanoseconds(Int64(now) * step)
        schedule()
    }

    private func schedule() {
        let next = began + .nanoseconds(Int64(now + 1) * step)
        eventLoop.assumeIsolated().scheduleTask(deadline: next) { self.turn() }
    }

    private func turn() {
        let time = eventLoop.now
        let target = UInt64(max(0, (time - began).nanoseconds) / step)
        while now < target {
            now += 1
            checkSlot(time)
        }
        if count == 0 {
            isTurning = false
        } else {
            schedule()
        }
    }

    private func checkSlot(_ time: NIODeadline) {
        let slot = Int(now % UInt64(slots.count))
        guard !slots[slot].isEmpty else { return }
        var owners = ContiguousArray<any Timed>()
        swap(&owners, &slots[slot])
        count -= owners.count
        // An object that was moved to an earlier slot meanwhile is stale in this one.
        for owner in owners where owner.turn == now {
            owner.turn = 0
            if let deadline = owner.nextDeadline, deadline <= time { owner.check(time) }
            if owner.turn == 0 { watch(owner) }
        }
    }
}
