package docker

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The sandbox's only process must live, reap orphans and do nothing. It is too
// small for a compiler: these are the instructions themselves, wrapped in the
// 120 bytes that make an ELF executable. Linux system calls:
//
//	rt_sigaction(SIGCHLD, {SIG_IGN}, NULL, 8)   so that the kernel reaps children of PID 1
//	for { pause() }                             (arm64 has no pause: ppoll with nothing to poll)
//
// SIG_IGN in the action is 1 as a 64-bit little endian word, then zeros.

// pauseAMD64 begins at loadAddress+headerSize.
var pauseAMD64 = []byte{
	0xb8, 13, 0, 0, 0, // mov eax, 13            rt_sigaction
	0xbf, 17, 0, 0, 0, // mov edi, 17            SIGCHLD
	0x48, 0x8d, 0x35, 0x17, 0, 0, 0, // lea rsi, [rip+23]  the action, behind the code
	0x31, 0xd2, // xor edx, edx           no old action
	0x41, 0xba, 8, 0, 0, 0, // mov r10d, 8            size of the signal set
	0x0f, 0x05, // syscall
	0xb8, 34, 0, 0, 0, // mov eax, 34            pause
	0x0f, 0x05, // syscall
	0xeb, 0xf7, // jmp to mov eax, 34
	0x90, 0x90, 0x90, 0x90, // padding to the action
}

var pauseARM64 = words(
	0xd2800220, // mov x0, #17       SIGCHLD
	0x10000181, // adr x1, +48       the action, behind the code
	0xd2800002, // mov x2, #0
	0xd2800103, // mov x3, #8
	0xd28010c8, // mov x8, #134      rt_sigaction
	0xd4000001, // svc #0
	0xd2800000, // mov x0, #0
	0xd2800001, // mov x1, #0
	0xd2800002, // mov x2, #0
	0xd2800003, // mov x3, #0
	0xd2800928, // mov x8, #73       ppoll
	0xd4000001, // svc #0
	0x17fffffa, // b -24, to mov x0, #0
)

// action is the kernel's struct sigaction with SIG_IGN.
var action = []byte{
	1, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0,
}

const (
	loadAddress = 0x400000
	headerSize  = 64 + 56 // ELF header and one program header
)

func words(w ...uint32) []byte {
	var b []byte
	for _, x := range w {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// pauseELF is the pause program for an architecture as Docker names it.
func pauseELF(arch string) ([]byte, error) {
	var machine uint16
	var code []byte
	switch arch {
	case "amd64", "x86_64":
		machine, code = 62, pauseAMD64
	case "arm64", "aarch64":
		machine, code = 183, pauseARM64
	default:
		return nil, fmt.Errorf("no pause program for the architecture %q: kuberow runs pods on amd64 and arm64", arch)
	}
	body := append(append([]byte(nil), code...), action...)
	size := uint64(headerSize + len(body))
	out := &bytes.Buffer{}
	out.Write([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}) // 64 bit, little endian
	for _, v := range []any{
		uint16(2), machine, uint32(1), // executable, machine, version
		uint64(loadAddress + headerSize), uint64(64), uint64(0), // entry, program headers, no sections
		uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), // PT_LOAD, read and execute
		uint64(0), uint64(loadAddress), uint64(loadAddress), size, size, uint64(0x1000),
	} {
		if err := binary.Write(out, binary.LittleEndian, v); err != nil {
			return nil, fmt.Errorf("write the pause program: %w", err)
		}
	}
	out.Write(body)
	return out.Bytes(), nil
}
