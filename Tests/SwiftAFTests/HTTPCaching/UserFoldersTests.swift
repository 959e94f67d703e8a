import SwiftAF
import Testing

@Suite struct UserFoldersTests {
    private func path(_ environment: [String: String], _ program: String = "viewer") -> String? {
        UserFolders.cache(of: program, "images", environment)
    }

    @Test func pathFollowsTheEnvironment() {
        #expect(path(["HOME": "/home/me"]) == "/home/me/.cache/viewer/images")
        #expect(path(["HOME": "/home/me", "XDG_CACHE_HOME": "/c"]) == "/c/viewer/images")
        #expect(path(["HOME": "/home/me", "XDG_CACHE_HOME": "c"]) == "/home/me/.cache/viewer/images")
        #expect(path(["XDG_CACHE_HOME": ""]) == nil)
        #expect(path(["HOME": "relative"]) == nil)
    }

    @Test func invalidProgramNameIsReplaced() {
        for name in ["", ".", "..", "a/b"] { #expect(path(["HOME": "/h"], name) == "/h/.cache/swiftaf/images") }
    }
}
