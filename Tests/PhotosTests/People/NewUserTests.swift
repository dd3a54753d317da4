import AuthAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@Suite("New users") struct NewUserTests {
    @Test("A user who has never used photos is found by each word of the name")
    func search() async throws {
        try await withPhotos { fixture in
            let bo = try await fixture.account("Bo")
            let user = UUID().uuidString.lowercased()
            let registered = UserChanged(applicationId: "roost", userId: user, username: "dora", fullName: "Dora Lind")
            let event = try await fixture.deliver(registered, by: "auth")
            // Events may be delivered twice.
            try await fixture.deliver(registered, as: event, by: "auth")

            for query in ["dora", "lind", "Lind%20Do"] {
                let found = try await bo.ask(.get, "/photos/people?query=\(query)")
                #expect(found.json["people"].array.map { $0["userId"].string } == [user], "\(found.text)")
            }

            let renamed = UserChanged(applicationId: "roost", userId: user, username: "dora", fullName: "Dora Holm")
            try await fixture.deliver(renamed, by: "auth")
            // The first request for the profile completes the row, and the user stays in the search.
            fixture.auth.names.change { $0[user] = "Dora Holm" }
            #expect(try await bo.ask(.get, "/photos/people/\(user)").status == 200)
            let current = try await bo.ask(.get, "/photos/people?query=holm")
            #expect(current.json["people"].array.map { $0["userId"].string } == [user])
            let former = try await bo.ask(.get, "/photos/people?query=lind")
            #expect(former.json["people"].array.isEmpty)
        }
    }
}
