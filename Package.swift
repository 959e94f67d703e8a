// swift-tools-version: 6.2
import PackageDescription

/// The C sources use `epoll`, `eventfd` and other Linux calls that glibc shows only with this macro;
/// CMakeLists.txt defines the same one.
let linuxC: [CSetting] = [.define("_GNU_SOURCE")]

/// What every C target needs. The dynamic loader looks up symbols in this order, and most of them are libcrypto's own and
/// libc's: that it finds them first saves 0.15 ms of the start (Benchmarks/first-byte).
let linkedCLibraries: [LinkerSetting] = ["crypto", "c", "ssl", "pthread"].map { .linkedLibrary($0) }

/// `import` without a level is internal, and a protocol used as a type is spelled with `any`.
let swiftStyle: [SwiftSetting] = [
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

/// Test targets, or folders of one (`SwiftAFTests/JSON`), that aren't compiled: most of the time of a build is the tests',
/// and a sanitizer finds nothing in some of them (Scripts/common.sh).
let omittedTests = Set((Context.environment["AF_OMITTED_TESTS"] ?? "").split(separator: " ").map(String.init))

func omittedFolders(of target: String) -> [String] {
    omittedTests.filter { $0.hasPrefix(target + "/") }.map { String($0.dropFirst(target.count + 1)) }.sorted()
}

let package = Package(
    name: "SwiftAF",
    products: [
        .library(name: "SwiftAF", targets: ["SwiftAF"]),
        .library(name: "SwiftAFCompression", targets: ["SwiftAFCompression"]),
        .library(name: "SwiftAFFoundation", targets: ["SwiftAFFoundation"]),
        .library(name: "SwiftAFImage", targets: ["SwiftAFImage"]),
        .library(name: "SwiftAFGTK", targets: ["SwiftAFGTK"]),
        .library(name: "SwiftAFWebKit", targets: ["SwiftAFWebKit"]),
        .library(name: "AFTestServer", targets: ["AFTestServer"]),
        .library(name: "CAFCore", targets: ["CAFCore"]),
        .executable(name: "swiftaf", targets: ["SwiftAFTool"]),
    ],
    traits: [
        .trait(name: "Compression", description: "gzip for request bodies, with zlib (zlib1g-dev)"),
        .trait(name: "Images", description: "Decoding and writing images, with gdk-pixbuf (libgdk-pixbuf-2.0-dev)"),
        .trait(
            name: "GTK", description: "Views of GTK 4 (libgtk-4-dev), with the trait Images",
            enabledTraits: ["Images"]),
        .trait(
            name: "WebKit", description: "Pages in WebKitGTK (libwebkitgtk-6.0-dev), with the trait GTK",
            enabledTraits: ["GTK"]),
    ],
    targets: [
        // The core, libafcore: C11 over libcurl and OpenSSL.
        .target(
            name: "CAFCore",
            exclude: ["README.md"],
            publicHeadersPath: "include",
            cSettings: linuxC + [.headerSearchPath(".")],
            linkerSettings: linkedCLibraries + [.linkedLibrary("curl")]
        ),
        // The library users import.
        .target(name: "SwiftAF", dependencies: ["CAFCore"], swiftSettings: swiftStyle),
        // What needs the big Foundation.
        .target(name: "SwiftAFFoundation", dependencies: ["SwiftAF"], swiftSettings: swiftStyle),

        // gzip for request bodies; links zlib only with the trait, and builds without it.
        .systemLibrary(name: "CZlib"),
        .target(
            name: "SwiftAFCompression",
            dependencies: [
                "SwiftAF", .target(name: "CZlib", condition: .when(traits: ["Compression"])),
            ],
            swiftSettings: swiftStyle
        ),

        // Images: cached and downloaded; decoded by gdk-pixbuf only with the trait.
        .systemLibrary(name: "CGdkPixbuf"),
        .target(
            name: "SwiftAFImage",
            dependencies: ["SwiftAF", .target(name: "CGdkPixbuf", condition: .when(traits: ["Images"]))],
            swiftSettings: swiftStyle
        ),

        // Widgets of GTK 4 that show images and tasks; without the trait it is empty.
        .systemLibrary(name: "CAFGTK"),
        .target(
            name: "SwiftAFGTK",
            dependencies: [
                "SwiftAF", "SwiftAFImage", .target(name: "CAFGTK", condition: .when(traits: ["GTK"])),
            ],
            swiftSettings: swiftStyle
        ),

        // A web view of WebKitGTK; without the trait it is empty.
        .systemLibrary(name: "CAFWebKit"),
        .target(
            name: "SwiftAFWebKit",
            dependencies: [
                "SwiftAF", "SwiftAFImage", "SwiftAFGTK",
                .target(name: "CAFWebKit", condition: .when(traits: ["WebKit"])),
            ],
            swiftSettings: swiftStyle
        ),

        // The command line program: what can be tested is a library, the product `swiftaf` only calls it.
        .target(
            name: "SwiftAFCommand",
            dependencies: ["SwiftAF", "SwiftAFImage", "AFTestServer"],
            swiftSettings: swiftStyle
        ),
        // What the program does before Swift's part of it begins.
        .target(name: "CAFProgram", dependencies: ["CAFCore"], cSettings: linuxC),
        .executableTarget(
            name: "SwiftAFTool",
            dependencies: ["SwiftAFCommand", "CAFProgram"],
            swiftSettings: swiftStyle
        ),

        // The scripted loopback server: C, and its Swift face.
        .target(
            name: "CAFTestServer",
            cSettings: linuxC + [.headerSearchPath(".")],
            linkerSettings: linkedCLibraries
        ),
        .target(name: "AFTestServer", dependencies: ["CAFTestServer"], swiftSettings: swiftStyle),

        .testTarget(
            name: "SwiftAFTests",
            dependencies: ["SwiftAF", "AFTestServer"],
            exclude: omittedFolders(of: "SwiftAFTests")
        ),
        .testTarget(name: "SwiftAFFoundationTests", dependencies: ["SwiftAFFoundation", "SwiftAF", "AFTestServer"]),
        .testTarget(name: "AFTestServerTests", dependencies: ["AFTestServer", "CAFTestServer", "SwiftAF"]),
        .testTarget(
            name: "SwiftAFCommandTests",
            dependencies: ["SwiftAFCommand", "SwiftAFImage", "SwiftAF", "AFTestServer"]
        ),
        .testTarget(
            name: "SwiftAFCompressionTests",
            dependencies: [
                "SwiftAFCompression", "SwiftAF",
                .target(name: "CZlib", condition: .when(traits: ["Compression"])),
            ]
        ),
        .testTarget(name: "SwiftAFImageTests", dependencies: ["SwiftAFImage", "SwiftAF", "AFTestServer"]),
        // A program of its own, because GTK needs the first thread, which the test runner gives away.
        .systemLibrary(name: "CGTKBinding", path: "Tests/CGTKBinding"),
        .executableTarget(
            name: "GTKTests",
            dependencies: [
                "SwiftAFGTK", "SwiftAFWebKit", "SwiftAFImage", "SwiftAF", "AFTestServer",
                .target(name: "CGTKBinding", condition: .when(traits: ["GTK"])),
            ],
            path: "Tests/GTK"
        ),
        // Counts allocations by standing in for malloc, in the tests' executable only.
        .target(name: "CAllocationCount", path: "Tests/CAllocationCount"),
        .testTarget(
            name: "AllocationTests",
            dependencies: ["SwiftAF", "AFTestServer", "CAllocationCount"],
            path: "Tests/Allocation"
        ),
        .testTarget(name: "SwiftAFFuzzTests", dependencies: ["SwiftAF", "SwiftAFImage"], path: "Tests/Fuzz/swift"),
        .testTarget(
            name: "InteropTests",
            dependencies: ["SwiftAF", "AFTestServer"],
            path: "Tests/Interop"
        ),
    ],
    swiftLanguageModes: [.v6]
)

package.targets.removeAll { $0.isTest && omittedTests.contains($0.name) }
