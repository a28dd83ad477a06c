#include "transfer/holes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "base/check.h"
#include "transfer/digest.h"

namespace strack::transfer {

bool is_hole(int fd, std::uint64_t offset, std::uint64_t length) {
  const off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) return errno == ENXIO;  // no data from here to the end
  return static_cast<std::uint64_t>(data) >= offset + length;
}

bool make_hole(int fd, std::uint64_t offset, std::uint64_t length) {
  return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                     static_cast<off_t>(length)) == 0;
}

Digest zero_digest(std::uint32_t length) {
  STRACK_CHECK_OP(length, <=, kBlockBytes);
  static const std::vector<std::byte> zeros(kBlockBytes);
  static const Digest whole = block_digest(zeros);
  return length == kBlockBytes ? whole : block_digest(std::span(zeros).first(length));
}

}  // namespace strack::transfer
