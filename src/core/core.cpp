// The core as a library: what it needs from outside can be read off its undefined symbols
// (core_purity_test).
#include "core/roce/receiver.h"
#include "core/roce/sender.h"
#include "core/strack/receiver.h"
#include "core/strack/sender.h"

namespace strack::core {

static_assert(Transport<Sender<>, Receiver<>>);
template class Sender<NoEvents>;
template class Receiver<NoEvents>;

static_assert(Transport<RoceSender<>, RoceReceiver<>>);
template class RoceSender<NoEvents>;
template class RoceReceiver<NoEvents>;

}  // namespace strack::core
