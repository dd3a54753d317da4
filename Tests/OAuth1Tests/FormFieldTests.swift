import OAuth1
import Testing

@Suite("Form fields") struct FormFieldTests {
    /// The examples of Twitter's documentation, "Percent encoding parameters", and others.
    @Test(
        "Text is percent-encoded and decoded",
        arguments: [
            ("Ladies + Gentlemen", "Ladies%20%2B%20Gentlemen"),
            ("An encoded string!", "An%20encoded%20string%21"),
            ("Dogs, Cats & Mice", "Dogs%2C%20Cats%20%26%20Mice"),
            ("☃", "%E2%98%83"),
            ("-._~", "-._~"),
            ("%41", "%2541"),
        ]
    )
    func percentEncoding(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
        #expect(PercentEncoding.decode(encoded) == text)
    }

    @Test(
        "A percent sign that starts no valid escape stands for itself",
        arguments: [("100%", "100%"), ("%zz", "%zz"), ("%+1", "%+1"), ("%e2%98%83", "☃"), ("a%", "a%")]
    )
    func strayPercentSign(text: String, decoded: String) {
        #expect(PercentEncoding.decode(text) == decoded)
    }

    @Test("A form keeps the order and the duplicates of its fields")
    func parsing() {
        let fields = FormField.parse("b=1&a=x%3Dy&&b=2+3&flag&=")
        #expect(
            fields == [
                FormField("b", "1"), FormField("a", "x=y"), FormField("b", "2 3"), FormField("flag", ""),
                FormField("", ""),
            ]
        )
        #expect(fields["b"] == "1")
        #expect(fields["c"] == nil)
        #expect(FormField.parse(fields.encoded) == fields)
        #expect([FormField("media_ids[]", "1 2")].encoded == "media_ids%5B%5D=1%202")
    }

    @Test("A token is read from a form response, and nil from any other response")
    func token() {
        let answer = "oauth_token=abc&oauth_token_secret=d%2Fe&oauth_callback_confirmed=true"
        #expect(OAuth1Credentials(form: FormField.parse(answer)) == OAuth1Credentials(key: "abc", secret: "d/e"))
        #expect(OAuth1Credentials(form: FormField.parse("oauth_token=&oauth_token_secret=d")) == nil)
        #expect(OAuth1Credentials(form: FormField.parse("<html>")) == nil)
    }
}
