import AuthAPI
import Foundation
import SocialAPI
import Wire

enum AdminOutput {
    static func accounts(_ accounts: [AccountReport]) -> String {
        guard !accounts.isEmpty else { return "no accounts\n" }
        let rows = accounts.map { account in
            [
                account.userId, account.username ?? "-", account.email ?? "-", accountState(of: account),
                "\(account.sessions)", account.lastSeenAt.map { Timestamp.string(from: $0) } ?? "-",
            ]
        }
        return TextTable.lines([["USER", "NAME", "E-MAIL", "STATE", "DEVICES", "LAST SEEN"]] + rows)
    }

    static func account(_ account: AccountReport) -> String {
        let verified = account.emailVerified ? "" : " (not verified)"
        let rows = [
            ["user", account.userId], ["username", account.username ?? "-"], ["full name", account.fullName ?? "-"],
            ["e-mail", account.email.map { $0 + verified } ?? "-"],
            ["created", Timestamp.string(from: account.createdAt)], ["state", accountState(of: account)],
            ["devices", "\(account.sessions)"],
            ["last seen", account.lastSeenAt.map { Timestamp.string(from: $0) } ?? "-"],
        ]
        return TextTable.lines(rows)
    }

    static func sessions(_ sessions: [Session]) -> String {
        guard !sessions.isEmpty else { return "no sessions\n" }
        let rows = sessions.map { session in
            [
                session.id, session.deviceId ?? "-", Timestamp.string(from: session.createdAt),
                Timestamp.string(from: session.lastSeenAt), session.userAgent ?? "-",
            ]
        }
        return TextTable.lines([["SESSION", "DEVICE", "SIGNED IN", "LAST SEEN", "USER AGENT"]] + rows)
    }

    static func events(_ events: [SecurityEvent]) -> String {
        guard !events.isEmpty else { return "no events\n" }
        let rows = events.map { event in
            [
                Timestamp.string(from: event.at), event.kind, event.address ?? "-", event.deviceId ?? "-",
                event.detail ?? event.userAgent ?? "-",
            ]
        }
        return TextTable.lines([["TIME", "EVENT", "ADDRESS", "DEVICE", "DETAIL"]] + rows)
    }

    static func deletions(_ deletions: [PendingDeletion]) -> String {
        guard !deletions.isEmpty else { return "no deletions in progress\n" }
        let rows = deletions.map { deletionJob in
            [
                deletionJob.deletionId, Timestamp.string(from: deletionJob.startedAt), "\(deletionJob.round)",
                deletionJob.pendingServices.isEmpty
                    ? "the second pass, which starts soon" : deletionJob.pendingServices.joined(separator: ", "),
            ]
        }
        return TextTable.lines([["DELETION", "STARTED", "PASS", "WAITS FOR"]] + rows)
    }

    static func applications(_ applications: [CustomerApplication]) -> String {
        guard !applications.isEmpty else { return "no applications\n" }
        let rows = applications.map { application in
            [
                application.applicationId, application.name, Timestamp.string(from: application.createdAt),
                "\(application.keys.count { $0.revokedAt == nil })", application.owner ?? "-",
            ]
        }
        return TextTable.lines([["APPLICATION", "NAME", "CREATED", "ACTIVE KEYS", "OWNER"]] + rows)
    }

    static func communities(_ communities: [BroadcastCommunity]) -> String {
        guard !communities.isEmpty else { return "no communities\n" }
        let rows = communities.map { [$0.name, $0.official ? "official" : "seen"] }
        return TextTable.lines([["COMMUNITY", "SOURCE"]] + rows)
    }

    static func keys(_ keys: KeyRotation) -> String {
        TextTable.lines([
            ["signing:", keys.current], ["standby:", keys.standby],
            ["verifying:", keys.previous.isEmpty ? "-" : keys.previous.joined(separator: ", ")],
        ])
    }

    private static func accountState(of account: AccountReport) -> String {
        let words = [
            account.disabledAt.map { "disabled since \(Timestamp.string(from: $0))" },
            account.isAdministrator ? "administrator" : nil, account.isAnonymous ? "anonymous" : nil,
        ].compactMap(\.self)
        return words.isEmpty ? "-" : words.joined(separator: ", ")
    }
}
