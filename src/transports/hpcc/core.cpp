// Both ends compiled into the library of cores: what they need from outside can be read off its
// undefined symbols (core_purity_test).
#include "core/events.h"
#include "core/transport.h"
#include "core/window/receiver.h"
#include "core/window/sender.h"
#include "transports/hpcc/control.h"

namespace strack::core {

template class WindowSender<HpccParams, HpccControl>;
static_assert(Transport<WindowSender<HpccParams, HpccControl>, WindowReceiver>);

}  // namespace strack::core
