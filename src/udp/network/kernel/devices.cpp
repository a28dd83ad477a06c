#include "udp/network/kernel/devices.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace strack::udp {

unsigned device_to(const Address& to) {
  if (to.scope != 0) return to.scope;
  const int fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return 0;
  const std::size_t bytes = to.v6 ? 16 : 4;
  struct {
    nlmsghdr header;
    rtmsg route;
    rtattr attribute;
    std::array<std::uint8_t, 16> address;
  } question{};
  question.route.rtm_family = to.v6 ? AF_INET6 : AF_INET;
  question.route.rtm_dst_len = static_cast<unsigned char>(8 * bytes);
  question.attribute.rta_type = RTA_DST;
  question.attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
  std::memcpy(question.address.data(), to.ip.data(), bytes);
  question.header.nlmsg_len =
      static_cast<std::uint32_t>(NLMSG_LENGTH(sizeof(rtmsg)) + RTA_SPACE(bytes));
  question.header.nlmsg_type = RTM_GETROUTE;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  alignas(nlmsghdr) std::array<char, 4'096> answer;
  ssize_t got = -1;
  if (::send(fd, &question, question.header.nlmsg_len, 0) > 0)
    got = ::recv(fd, answer.data(), answer.size(), 0);
  ::close(fd);
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(rtmsg)))) return 0;
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer.data());
  if (header->nlmsg_type != RTM_NEWROUTE || header->nlmsg_len > static_cast<std::size_t>(got))
    return 0;
  std::size_t at = NLMSG_LENGTH(sizeof(rtmsg));
  while (at + sizeof(rtattr) <= header->nlmsg_len) {
    rtattr attribute{};
    std::memcpy(&attribute, answer.data() + at, sizeof attribute);
    if (attribute.rta_len < sizeof(rtattr) || at + attribute.rta_len > header->nlmsg_len) break;
    if (attribute.rta_type == RTA_OIF && attribute.rta_len == RTA_LENGTH(sizeof(unsigned))) {
      unsigned device = 0;
      std::memcpy(&device, answer.data() + at + RTA_LENGTH(0), sizeof device);
      return device;
    }
    at += RTA_ALIGN(attribute.rta_len);
  }
  return 0;
}

int device_mtu(int fd, unsigned device) {
  ifreq request{};
  if (device == 0 || if_indextoname(device, request.ifr_name) == nullptr ||
      ioctl(fd, SIOCGIFMTU, &request) != 0)
    return 0;
  return request.ifr_mtu;
}

}  // namespace strack::udp
