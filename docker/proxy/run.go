package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Options of the container's command line.
type Options struct {
	ServiceCIDR string // taken as local
	DNS         string // address of the cluster's DNS
	Domain      string // cluster.local
	Upstream    string // resolver for other names: /etc/resolv.conf of the container
	Log         *slog.Logger
}

// maxTable bounds a line: a table of 10,000 endpoints is about 2 MB.
const maxTable = 64 << 20

// Run takes the service range and obeys the tables that come on in, until it
// ends or ctx does.
func Run(ctx context.Context, o Options, in io.Reader) error {
	if err := routeLocal(o.ServiceCIDR); err != nil {
		return fmt.Errorf("take the service range %s: %w", o.ServiceCIDR, err)
	}
	f := newForwarder(o.Log)
	defer f.close()
	d, err := newDNS(o)
	if err != nil {
		return err
	}
	defer d.close()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxTable)
	for lines.Scan() {
		var t Table
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			o.Log.Error("read a table", "error", err)
			continue
		}
		f.set(t)
		d.set(t)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read tables: %w", err)
	}
	<-ctx.Done() // the input ended, the last table holds
	return nil
}
