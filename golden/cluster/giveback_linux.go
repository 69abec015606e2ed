package cluster

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// measure reads what the kernel counts.
func measure() (usage, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return usage{}, fmt.Errorf("measure memory: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return usage{}, fmt.Errorf("measure memory: /proc/self/statm says %q", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return usage{}, fmt.Errorf("measure memory: %w", err)
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return usage{}, fmt.Errorf("measure CPU time: %w", err)
	}
	return usage{resident: pages * int64(os.Getpagesize()), cpu: time.Duration(used.Utime.Nano() + used.Stime.Nano())}, nil
}

// releaseProgram drops the pages of the program's own file from this process;
// the page cache keeps them. A failure changes nothing that matters.
func releaseProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range cleanMappings(bytes.NewReader(maps), program) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// cleanMappings finds the read-only mappings of a file in the text of smaps.
// One that has pages of its own is left out: a loader that relocates writes
// to what it makes read-only afterwards, and the file does not have that. Dirty
// pages say nothing: those of a program that was just built are, until the
// kernel has written them.
func cleanMappings(smaps io.Reader, file string) (clean []mapping) {
	var m mapping
	candidate := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) >= 5 && strings.Contains(f[0], "-"):
			_, err := fmt.Sscanf(f[0], "%x-%x", &m.from, &m.to)
			candidate = err == nil && len(f) == 6 && f[5] == file && (f[1] == "r-xp" || f[1] == "r--p")
		case len(f) == 3 && (f[0] == "Anonymous:" || f[0] == "Swap:") && f[1] != "0":
			candidate = false
		case f != nil && f[0] == "VmFlags:" && candidate: // the last line of a mapping
			clean = append(clean, m)
		}
	}
	return clean
}
