// A program that uses GTK by its own module beside SwiftAFGTK. Scripts/checks/gtk compiles it: its pointers are what
// SwiftAFGTK takes, and no name of GTK is ambiguous.
import CGTK
import SwiftAFGTK
import SwiftAFImage

try MainActorInGLib.install()
gtk_init()
let picture: UnsafeMutablePointer<GtkWidget> = gtk_picture_new()
GTKPicture.of(picture).setImage(with: "https://example.org/cat.jpg", placeholderImage: nil)
let bar = gtk_progress_bar_new()!
GTKProgressBar.of(OpaquePointer(bar)).setProgress(0.5, animated: false)
let scrolled = gtk_scrolled_window_new()!
let box = UnsafeMutableRawPointer(gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)!).assumingMemoryBound(to: GtkBox.self)
gtk_box_append(box, UnsafeMutablePointer(GTKRefresh.of(scrolled).indicator))
gtk_box_append(box, scrolled)
