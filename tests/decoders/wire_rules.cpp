#include "wire_rules.h"

namespace strack::decoders {
namespace {

constexpr std::uint64_t kTwoTo40 = std::uint64_t{1} << 40;

bool is_keyed(Bytes p) { return (p[1] & 0x80) != 0; }
unsigned flags(Bytes p) { return p[1] & 0x7fu; }
std::uint64_t path_id(Bytes p) { return number_at<2>(p, 2); }
std::uint64_t connection_id(Bytes p) { return number_at<4>(p, 4); }

bool zeros(Bytes bytes, std::size_t from) {
  for (std::size_t i = from; i < bytes.size(); ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

/// The header of those that a connection's key seals, and its tag's place.
bool session(Bytes p, unsigned allowed_flags, bool has_path) {
  if ((flags(p) & ~allowed_flags) != 0 || connection_id(p) == 0) return false;
  if (path_id(p) > (has_path ? 255u : 0u)) return false;
  if (!is_keyed(p)) return true;
  return p.size() >= 8 + 8 + 16 && number_at<8>(p, 8) < kTwoTo40;
}

/// Behind a session packet's header, without the tag.
Bytes body(Bytes p) { return is_keyed(p) ? p.subspan(16, p.size() - 32) : p.subspan(8); }

bool data(Bytes p) {
  const Bytes b = body(p);
  const bool write = (flags(p) & 2) != 0;
  const bool piece = (flags(p) & 4) != 0;
  const std::uint64_t length = number_at<4>(b, 12);
  const std::uint64_t offset = number_at<4>(b, 16);
  const std::uint64_t payload = b.size() - (write ? 36 : 28);
  if (write) {
    const std::uint64_t region_offset = number_at<8>(b, 28);
    if (length > 0 && region_offset > UINT64_MAX - length) return false;
  }
  if (payload == 0 && (length > 0 || piece)) return false;
  return offset + payload <= length;
}

bool sack(Bytes p) {
  const bool for_probe = (flags(p) & 2) != 0;
  return for_probe || number_at<2>(body(p), 34) == 0;
}

bool close(Bytes p) {
  const Bytes b = body(p);
  return number_at<4>(b, 4) != 0 && number_at<2>(b, 8) <= 5;
}

bool is_host(Bytes p) { return flags(p) == 1; }

/// Hello, connect, accept: one flag, and that with a key only.
bool set_up(Bytes p, bool has_path, bool has_id) {
  return (flags(p) == 0 || (is_host(p) && is_keyed(p))) && path_id(p) <= (has_path ? 255 : 0) &&
         (connection_id(p) != 0) == has_id;
}

/// Bytes of a packet of these three, without a key, with one, and with keys of hosts.
std::size_t one_of(Bytes p, std::size_t plain, std::size_t keyed, std::size_t host) {
  return 8 + (is_host(p) ? host : is_keyed(p) ? keyed : plain);
}

bool ciphers_are_right(std::uint64_t ciphers, bool keyed, bool answer) {
  if (!keyed) return ciphers == 0;
  return ciphers == 1 || ciphers == 2 || (ciphers == 3 && !answer);
}

bool terms(Bytes p, bool answer) {
  const Bytes t = p.subspan(8, 72);
  const std::uint64_t paths = number_at<2>(t, 62);
  const std::uint64_t window = number_at<2>(t, 64);
  const bool host_extension = (t[70] & 1) != 0;  // bit 8 of 16
  return number_at<4>(t, 0) != 0 && (number_at<4>(t, 36) != 0) == is_keyed(p) &&
         number_at<4>(t, 56) != 0 && number_at<2>(t, 60) >= 512 && paths >= 1 && paths <= 256 &&
         window >= 1 && window <= 32'768 && ciphers_are_right(t[66], is_keyed(p), answer) &&
         t[67] != 0 && number_at<2>(t, 68) != 0 && host_extension == is_host(p);
}

bool hello(Bytes p) { return terms(p, false) && zeros(p, one_of(p, 72, 72 + 16, 72 + 128 + 16)); }

/// Challenge and reject: neither key, flag nor path.
bool plain_answer(Bytes p) { return p[1] == 0 && path_id(p) == 0 && connection_id(p) != 0; }

bool reject(Bytes p) {
  const unsigned reason = p[16];
  const unsigned lowest = p[17];
  const unsigned highest = p[18];
  return reason >= 1 && reason <= 10 && lowest >= 1 && lowest <= highest && highest <= 15 &&
         p[19] == 0;
}

bool reset(Bytes p) {
  return number_at<4>(p, 8) != 0 && (!is_keyed(p) || number_at<8>(p, 12) < kTwoTo40);
}

bool body_is_right(Bytes p) {
  switch (p[0] & 15) {
    case 1:
      return data(p);
    case 2:
      return sack(p);
    case 4:
      return zeros(body(p), 12);
    case 6:
      return hello(p);
    case 8:
      return terms(p, false);
    case 9:
      return terms(p, true);
    case 10:
      return reject(p);
    case 11:
    case 12:
      return close(p);
    case 13:
      return reset(p);
    default:
      return true;
  }
}

}  // namespace

bool header_is_right(Bytes p) {
  if (p.size() < 8 || p.size() > 65'507 || p[0] >> 4 != 2) return false;
  switch (p[0] & 15) {
    case 1:
      return session(p, 7, true) && body(p).size() >= ((flags(p) & 2) != 0 ? 36u : 28u);
    case 2:
      return session(p, 3, true) && body(p).size() == 40;
    case 3:
      return session(p, 0, true) && body(p).size() == 10;
    case 4:
      return session(p, 0, true) && body(p).size() >= 12;
    case 5:
      return session(p, 1, true) && body(p).size() == 18;
    case 6:
      return set_up(p, true, false) && p.size() >= 1200;
    case 7:
      return plain_answer(p) && p.size() == 8 + 42;
    case 8:
      return set_up(p, true, false) && p.size() == one_of(p, 104, 120, 248);
    case 9:
      return set_up(p, false, true) && p.size() == one_of(p, 72, 88, 168);
    case 10:
      return plain_answer(p) && p.size() == 8 + 12;
    case 11:
    case 12:
      return session(p, 0, false) && body(p).size() == 10;
    case 13:
      return flags(p) == 0 && path_id(p) == 0 && connection_id(p) == 0 &&
             p.size() == (is_keyed(p) ? 36u : 20u);
    default:
      return false;
  }
}

bool packet_is_right(Bytes packet) { return header_is_right(packet) && body_is_right(packet); }

bool is_foreign_hello(Bytes p) {
  if (p.size() < 1200 || p.size() > 65'507 || (p[0] & 15) != 6) return false;
  return p[0] >> 4 != 0 && p[0] >> 4 != 2 && number_at<4>(p, 8) != 0;
}

namespace {

/// What a request says of memory.
bool memory_is_right(Bytes r) {
  const std::uint64_t length = number_at<4>(r, 4);
  const bool wraps = length > 0 && number_at<8>(r, 16) > UINT64_MAX - length;
  return number_at<8>(r, 8) != 0 && number_at<8>(r, 24) != 0 && !wraps;
}

}  // namespace

bool request_is_right(Bytes r) {
  return r.size() == 32 && number_at<4>(r, 0) == 0x0100'0000 && memory_is_right(r);
}

bool atomic_is_right(Bytes r) {
  if (r.size() < 32 || r[0] != 2 || r[3] != 0 || !memory_is_right(r)) return false;
  const unsigned op = r[1], type = r[2];
  if (op < 1 || op > 19 || type < 1 || type > 10) return false;
  const std::uint64_t size = type == 9 ? 4 : type == 10 ? 8 : 1U << ((type - 1) / 2);
  const std::uint64_t length = number_at<4>(r, 4);
  if (length < 1 || length > 240 || length % size != 0) return false;
  return r.size() == 32 + length * (op == 11 ? 0 : op < 13 ? 1 : 2);
}

bool is_sealed(Bytes p) {
  const unsigned type = p[0] & 15;
  return is_keyed(p) && (type <= 5 || type == 11 || type == 12);
}

bool plus_sack_is_canonical(Bytes p) {
  const Bytes b = body(p);
  const std::uint64_t bits =
      number_at<4>(b, 16) | number_at<2>(b, 32) << 32 | number_at<1>(b, 8) << 48;
  const std::uint64_t used = 2 + 18 * (bits & 3);
  return (bits >> used) == 0 && number_at<2>(b, 34) <= 1;
}

}  // namespace strack::decoders
