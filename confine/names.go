package confine

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// Parts of DNS (RFC 1035) that the name server of a run speaks.
const (
	typeA     = 1
	typeAAAA  = 28
	classIN   = 1
	codeName  = 3 // NXDOMAIN
	codeNo    = 4 // not implemented
	flagReply = 0x8000 | 0x0400 | 0x0080
	timeLives = 600 // seconds
	headerLen = 12
)

// answerName answers one query with the addresses that lookup returns for its name: one, the
// other, or both invalid for a name that does not exist here. A packet that is no query gets
// no answer.
func answerName(query []byte, lookup func(name string) (v4, v6 netip.Addr)) []byte {
	if len(query) < headerLen || query[2]&0x80 != 0 {
		return nil
	}
	name, end := questionName(query)
	if end < 0 || end+4 > len(query) {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[end:])
	class := binary.BigEndian.Uint16(query[end+2:])
	out := append([]byte(nil), query[:end+4]...)
	reply := func(code uint16, answers uint16) {
		binary.BigEndian.PutUint16(out[2:], flagReply|uint16(query[2]&0x79)<<8|code)
		binary.BigEndian.PutUint16(out[4:], 1)
		binary.BigEndian.PutUint16(out[6:], answers)
		binary.BigEndian.PutUint32(out[8:], 0)
	}
	if class != classIN || query[2]&0x78 != 0 {
		reply(codeNo, 0)
		return out
	}
	v4, v6 := lookup(name)
	if !v4.IsValid() && !v6.IsValid() {
		reply(codeName, 0)
		return out
	}
	addr := netip.Addr{}
	switch kind {
	case typeA:
		addr = v4
	case typeAAAA:
		addr = v6
	}
	if !addr.IsValid() {
		reply(0, 0)
		return out
	}
	reply(0, 1)
	out = append(out, 0xc0, headerLen) // the question's name
	out = binary.BigEndian.AppendUint16(out, kind)
	out = binary.BigEndian.AppendUint16(out, classIN)
	out = binary.BigEndian.AppendUint32(out, timeLives)
	out = binary.BigEndian.AppendUint16(out, uint16(len(addr.AsSlice())))
	return append(out, addr.AsSlice()...)
}

// questionName reads the name of the only question, in lower case and without the last dot,
// and returns where it ends, -1 if there is none.
func questionName(query []byte) (string, int) {
	if binary.BigEndian.Uint16(query[4:]) != 1 {
		return "", -1
	}
	var labels []string
	total := 0
	for at := headerLen; at < len(query); {
		n := int(query[at])
		at++
		if n == 0 {
			return strings.ToLower(strings.Join(labels, ".")), at
		}
		if total += n + 1; n > 63 || total > 255 || at+n > len(query) {
			return "", -1
		}
		labels = append(labels, string(query[at:at+n]))
		at += n
	}
	return "", -1
}

// match finds the allowed ports of a name; hosts that overlap add up. A query may hold any bytes: a line of
// `evil.test:443 http/1.1\r\nx: .example.org` below `*.example.org` would reach the proxy as its own request.
func (n Network) match(name string) []int {
	if !isHostName(name) || strings.HasPrefix(name, "*") {
		return nil
	}
	var ports []int
	for _, h := range n.Hosts {
		below, isPattern := strings.CutPrefix(h.Name, "*")
		if h.Name == name || isPattern && strings.HasSuffix(name, below) && len(name) > len(below) {
			ports = append(ports, h.Ports...)
		}
	}
	return sortedCopy(ports)
}
