// Command kuberow is Kubernetes, row by row: a control plane and a node whose
// whole state is one SQLite file. This file is the command line and nothing
// else; golden/cluster starts the parts.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kuberow/docker"
	"kuberow/docker/proxy"
	"kuberow/golden/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := command()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "kuberow: %v\n", err)
	if errors.As(err, new(usageError)) || errors.As(err, new(*cluster.FlagError)) || strings.HasPrefix(err.Error(), "unknown ") {
		os.Exit(2)
	}
	os.Exit(1)
}

// usageError is a command line that cannot be understood: exit status 2.
type usageError struct{ error }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "kuberow",
		Short:         "Kubernetes, row by row: a cluster in one process and one SQLite file",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; kuberow %s --help lists the flags", err, c.Name())}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(serve(), check(), why(), history(), version(), proxyCommand(), dialCommand())
	return root
}

func serve() *cobra.Command {
	config := cluster.DefaultConfig()
	verbose := false
	c := &cobra.Command{
		Use:   "serve",
		Short: "run the cluster until interrupted",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			level := slog.LevelWarn
			if verbose {
				level = slog.LevelDebug
			}
			config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
			usual := debug.SetGCPercent(400) // a start allocates what stays: collecting on the way would cost it ten milliseconds
			running, err := cluster.Start(c.Context(), config)
			debug.SetGCPercent(usual)
			if err != nil {
				return err
			}
			fmt.Fprintln(os.Stderr, running.Ready())
			go giveBack(c.Context())
			select {
			case <-c.Context().Done():
			case <-running.Failed():
			}
			return running.Stop()
		},
	}
	config.AddFlags(c.Flags())
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "log what happens, not only what goes wrong")
	return c
}

// giveBack returns to the system, twice a minute, what the start or a burst of
// requests took and nobody needs any more. Go does so too, but keeps a part of
// its peak for minutes; the collection that this forces takes about ten milliseconds at rest.
func giveBack(ctx context.Context) {
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			debug.FreeOSMemory()
		case <-ctx.Done():
			return
		}
	}
}

func check() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "check",
		Short: "check that cluster.db keeps its invariants",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return cluster.Check(c.Context(), dir, c.OutOrStdout())
		},
	}
	dataDir(c, &dir)
	return c
}

func why() *cobra.Command {
	var dir, namespace string
	c := &cobra.Command{
		Use:     "why KIND/NAME",
		Short:   "print the chain of causes of an object, back to the request that began it",
		Example: "  kuberow why pod/web-5d8f7c-x2x4k",
		Args:    oneObject,
		RunE: func(c *cobra.Command, args []string) error {
			return cluster.Why(c.Context(), dir, namespace, args[0], c.OutOrStdout())
		},
	}
	dataDir(c, &dir)
	c.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the object")
	return c
}

func history() *cobra.Command {
	var dir, namespace string
	c := &cobra.Command{
		Use:     "history [KIND/NAME]",
		Short:   "print every change that is kept, of one object or of all: who, when and why",
		Example: "  kuberow history deployment/web",
		RunE: func(c *cobra.Command, args []string) error {
			object := ""
			if len(args) > 0 {
				if err := oneObject(c, args); err != nil {
					return err
				}
				object = args[0]
			}
			return cluster.History(c.Context(), dir, namespace, object, c.OutOrStdout())
		},
	}
	dataDir(c, &dir)
	c.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the object")
	return c
}

func version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: noArgs,
		Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), cluster.Version) },
	}
}

// proxyCommand is what the proxy container runs.
func proxyCommand() *cobra.Command {
	o := proxy.Options{Upstream: "/etc/resolv.conf"}
	c := &cobra.Command{
		Use: "proxy", Hidden: true, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
			return proxy.Run(c.Context(), o, os.Stdin)
		},
	}
	c.Flags().StringVar(&o.ServiceCIDR, "service-cluster-ip-range", "", "range to answer for")
	c.Flags().StringVar(&o.DNS, "cluster-dns", "", "address of cluster DNS")
	c.Flags().StringVar(&o.Domain, "cluster-domain", "", "domain of the cluster")
	return c
}

// dialCommand joins standard input and output with a port; docker/dial.go runs it inside a pod's network.
func dialCommand() *cobra.Command {
	return &cobra.Command{
		Use: "dial ADDRESS", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return docker.DialStdio(c.Context(), args[0], os.Stdin, os.Stdout, os.Stderr)
		},
	}
}

func dataDir(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "data-dir", cluster.DefaultConfig().DataDir, "directory of cluster.db; no server need run")
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument, and got %q; see kuberow %s --help", c.Name(), args[0], c.Name())}
	}
	return nil
}

func oneObject(c *cobra.Command, args []string) error {
	if len(args) != 1 || !strings.Contains(args[0], "/") {
		return usageError{fmt.Errorf("%s wants one KIND/NAME, such as pod/web-1; see kuberow %s --help", c.Name(), c.Name())}
	}
	return nil
}
