// A gallery of pictures from a server of its own.
//
//     swift run gallery [NUMBER OF PICTURES]
import GalleryWindow
import Glibc

let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 2000
exit(try Application.run(pictures: count))
