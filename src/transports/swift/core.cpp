// Both ends compiled into the library of cores: what they need from outside can be read off its
// undefined symbols (core_purity_test).
#include "core/events.h"
#include "core/transport.h"
#include "core/window/receiver.h"
#include "core/window/sender.h"
#include "transports/swift/control.h"

namespace strack::core {

template class WindowSender<SwiftParams, SwiftControl>;
static_assert(Transport<WindowSender<SwiftParams, SwiftControl>, WindowReceiver>);

}  // namespace strack::core
