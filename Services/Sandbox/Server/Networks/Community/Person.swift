import Foundation

/// Somebody on a network: seeded, or made for a test.
struct Person: Sendable {
    /// Where the person stands among all of the network; people are numbered from 0.
    let number: Int
    /// As the network's own id, below 2^53.
    let id: Int64
    /// `ana`: what mentions and addresses are made of.
    let name: String
    let displayName: String
    /// The numbers of those whose posts are in the person's home.
    var follows: Set<Int>

    /// A UUID's worth of text that is always the same for the same person.
    var stableKey: String { StableText.base32(of: "person \(name)", length: 24) }
}

extension Person {
    /// Who is on every network from the start: the first four are accounts that clients sign in as.
    static let seeded: [(name: String, displayName: String)] = [
        ("ana", "Ana Albers"), ("bo", "Bo Brandt"), ("cara", "Cara Conti"), ("dan", "Dan Duval"),
        ("eli", "Eli Eriksen"), ("fay", "Fay Ferreira"), ("gus", "Gus Gruber"), ("hana", "Hana Horvat"),
        ("ivo", "Ivo Ilic"), ("jo", "Jo Jansen"), ("kim", "Kim Kaya"), ("lou", "Lou Lefevre"),
    ]

    /// Ana and Bo have some of the others in common and some to themselves, so that who got whose answer can be told.
    static func followed(by number: Int) -> Set<Int> {
        let first = number < seeded.count ? 2 + number % 4 : number % 8
        return Set((0..<7).map { (first + $0) % seeded.count }).subtracting([number])
    }
}

extension Person {
    /// Who asks where an app asks for itself.
    static let anonymous = Person(number: -1, id: 0, name: "", displayName: "", follows: [])
}
