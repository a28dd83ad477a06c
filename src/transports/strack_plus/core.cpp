// Both ends compiled into the library of cores: what they need from outside can be read off its
// undefined symbols (core_purity_test).
#include "core/events.h"
#include "core/transport.h"
#include "transports/strack_plus/receiver.h"
#include "transports/strack_plus/sender.h"

namespace strack::core {

static_assert(Transport<PlusSender<>, PlusReceiver>);
template class PlusSender<NoEvents>;

}  // namespace strack::core
