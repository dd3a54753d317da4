import Foundation

/// A person on a network, seeded or created for a test.
struct Person: Sendable {
    /// The person's index among all people of the network, from 0.
    let number: Int
    /// The network's id of the person, below 2^53.
    let id: Int64
    /// The name in mentions and addresses, such as `ana`.
    let name: String
    let displayName: String
    /// The numbers of the people that the person follows.
    var follows: Set<Int>

    /// 24 characters (120 bits) that are always the same for the same person.
    var stableKey: String { StableText.base32(of: "person \(name)", length: 24) }
}

extension Person {
    /// The people of every network; clients sign in as the first four.
    static let seeded: [(name: String, displayName: String)] = [
        ("ana", "Ana Albers"), ("bo", "Bo Brandt"), ("cara", "Cara Conti"), ("dan", "Dan Duval"),
        ("eli", "Eli Eriksen"), ("fay", "Fay Ferreira"), ("gus", "Gus Gruber"), ("hana", "Hana Horvat"),
        ("ivo", "Ivo Ilic"), ("jo", "Jo Jansen"), ("kim", "Kim Kaya"), ("lou", "Lou Lefevre"),
    ]

    /// Returns the people that a seeded person follows.
    ///
    /// The sets of Ana and Bo overlap but differ, so that a test notices when a client receives the other account's
    /// response.
    static func followed(by number: Int) -> Set<Int> {
        let first = number < seeded.count ? 2 + number % 4 : number % 8
        return Set((0..<7).map { (first + $0) % seeded.count }).subtracting([number])
    }
}

extension Person {
    /// The caller of a request that an app makes for itself, without a user.
    static let anonymous = Person(number: -1, id: 0, name: "", displayName: "", follows: [])
}
