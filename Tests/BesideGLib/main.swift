// A program that uses GLib by its own module beside SwiftAFImage. Scripts/checks/swift-traits compiles it: a GLib
// name that Sources/CGdkPixbuf declared too would be ambiguous here, or its type another.
import CGLib
import SwiftAFImage

var flags: GConnectFlags = G_CONNECT_AFTER
var error: UnsafeMutablePointer<GError>?
let object = g_object_new_with_properties(GType(20 << 2), 0, nil, nil)
g_signal_connect_data(object, "notify", { () -> Void in }, nil, nil, flags)
g_object_unref(object)
g_free(nil)
print(SystemImageDecoder.self, flags.rawValue, error == nil)
