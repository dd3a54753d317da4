import NIOCore

/// Something that has to be looked at when a time has come.
protocol Timed: AnyObject {
    /// The turn of the wheel at which it will be looked at; 0 for none.
    var turn: UInt64 { get set }
    /// When it wants to be looked at next; nil if no more.
    var nextDeadline: NIODeadline? { get }
    /// Looks at its deadlines.
    func check(_ now: NIODeadline)
}

/// The deadlines of everything on one event loop, by one timer.
///
/// A deadline that moves back, as a heartbeat's does all the time, costs nothing: its owner is looked at when it was to
/// be, and put into the slot of the new time. It turns only while something is on it.
final class TimerWheel {
    private let eventLoop: any EventLoop
    private let step: Int64
    private var slots: [ContiguousArray<any Timed>]
    private var count = 0
    private var now: UInt64 = 1
    private var began: NIODeadline
    private var isTurning = false

    /// A step is how late a deadline may be noticed.
    init(eventLoop: any EventLoop, step: TimeAmount) {
        self.eventLoop = eventLoop
        self.step = step.nanoseconds
        began = eventLoop.now
        slots = Array(repeating: [], count: 512)
    }

    /// Has the owner looked at when its next deadline has come, or earlier if that was asked before.
    func watch(_ owner: any Timed) {
        guard let deadline = owner.nextDeadline else { return }
        if !isTurning { start() }
        let nanoseconds = max(0, (deadline - began).nanoseconds)
        let turn = max(now + 1, UInt64((nanoseconds + step - 1) / step))
        if owner.turn > now, owner.turn <= turn { return }
        place(owner, at: turn)
    }

    private func place(_ owner: any Timed, at turn: UInt64) {
        // What is further away than the wheel goes round is looked at once each round.
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
            look(time)
        }
        if count == 0 {
            isTurning = false
        } else {
            schedule()
        }
    }

    private func look(_ time: NIODeadline) {
        let slot = Int(now % UInt64(slots.count))
        guard !slots[slot].isEmpty else { return }
        var owners = ContiguousArray<any Timed>()
        swap(&owners, &slots[slot])
        count -= owners.count
        // One that has been put into an earlier slot since is of that slot.
        for owner in owners where owner.turn == now {
            owner.turn = 0
            if let deadline = owner.nextDeadline, deadline <= time { owner.check(time) }
            if owner.turn == 0 { watch(owner) }
        }
    }
}
