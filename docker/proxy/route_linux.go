package proxy

import (
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
)

// routeLocal is "ip route add local CIDR dev lo", said to the kernel over
// netlink (rtnetlink(7)): RTM_NEWROUTE of type local in the table local.
func routeLocal(cidr string) error {
	_, network, err := net.ParseCIDR(cidr)
	if err != nil {
		return err
	}
	ip := network.IP.To4()
	if ip == nil {
		return fmt.Errorf("%s is not an IPv4 range", cidr)
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	bits, _ := network.Mask.Size()
	body := []byte{syscall.AF_INET, byte(bits), 0, 0, syscall.RT_TABLE_LOCAL, syscall.RTPROT_BOOT, syscall.RT_SCOPE_HOST, syscall.RTN_LOCAL, 0, 0, 0, 0}
	body = append(body, attribute(syscall.RTA_DST, ip)...)
	body = append(body, attribute(syscall.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(lo.Index)))...)
	return netlink(syscall.RTM_NEWROUTE, syscall.NLM_F_CREATE|syscall.NLM_F_REPLACE, body)
}

func attribute(kind uint16, value []byte) []byte {
	out := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	out = binary.NativeEndian.AppendUint16(out, kind)
	return append(out, value...)
}

// netlink sends one request and reads its acknowledgement.
func netlink(kind uint16, flags uint16, body []byte) error {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink: %w", err)
	}
	defer syscall.Close(fd)
	message := binary.NativeEndian.AppendUint32(nil, uint32(syscall.NLMSG_HDRLEN+len(body)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	message = binary.NativeEndian.AppendUint16(message, flags|syscall.NLM_F_REQUEST|syscall.NLM_F_ACK)
	message = binary.NativeEndian.AppendUint32(message, 1) // sequence
	message = binary.NativeEndian.AppendUint32(message, 0) // the kernel knows our port
	message = append(message, body...)
	if err := syscall.Sendto(fd, message, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return fmt.Errorf("ask the kernel: %w", err)
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return fmt.Errorf("read the kernel's answer: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil {
		return fmt.Errorf("read the kernel's answer: %w", err)
	}
	for _, m := range messages {
		if m.Header.Type == syscall.NLMSG_ERROR && len(m.Data) >= 4 {
			if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
				return fmt.Errorf("the kernel refused: %w", syscall.Errno(-code))
			}
		}
	}
	return nil
}
