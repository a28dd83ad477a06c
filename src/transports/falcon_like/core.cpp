// Both ends compiled into the library of cores: what they need from outside can be read off its
// undefined symbols (core_purity_test).
#include "core/events.h"
#include "core/transport.h"
#include "core/window/receiver.h"
#include "core/window/sender.h"
#include "transports/falcon_like/control.h"

namespace strack::core {

template class WindowSender<FalconParams, FalconControl>;
static_assert(Transport<WindowSender<FalconParams, FalconControl>, WindowReceiver>);

}  // namespace strack::core
