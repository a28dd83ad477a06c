// Both ends compiled into the library of cores: what they need from outside can be read off its
// undefined symbols (core_purity_test).
#include "core/transport.h"
#include "transports/strack/receiver.h"
#include "transports/strack/sender.h"

namespace strack::core {

static_assert(Transport<Sender<>, Receiver<>>);
template class Sender<NoEvents>;
template class Sender<NoEvents, GuardedPaths>;
template class Receiver<NoEvents>;

}  // namespace strack::core
