package kubelet

import (
	"context"
	"io"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Runtime runs sandboxes and containers for one or more nodes. It is modelled
// on the CRI's RuntimeService and ImageService, cut to what the kubelet here
// needs; docker/ and controllers/kubelet/simulated implement it. Calls may take long and must obey ctx.
type Runtime interface {
	// Name is what container IDs start with and nodes report: docker, simulated.
	Name() string
	Version(ctx context.Context) (string, error) // an error means that the engine is not there now

	// List gives every sandbox of this cluster with its containers (all attempts that are kept), also those that an
	// earlier process started: adoption after a restart begins here.
	List(ctx context.Context) ([]Sandbox, error)
	// Sandbox gives one pod's sandbox as List does; false when there is none. The kubelet asks after each of its own
	// calls and after each value of Events, so it should not look at other pods.
	Sandbox(ctx context.Context, uid types.UID) (Sandbox, bool, error)
	// Events closes when the engine goes away; each value names a pod whose containers changed.
	Events(ctx context.Context) (<-chan types.UID, error)

	// RunSandbox makes the pod's network and namespaces and gives its IPs. It is idempotent: a ready sandbox of
	// that UID is returned as it is, one that died is replaced (its exited containers stay listed).
	// Hostname(pod), the pod's hostAliases and DNS settings are the sandbox's; containers share its files.
	RunSandbox(ctx context.Context, pod *corev1.Pod) (Sandbox, error)
	// StopSandbox kills what still runs in it and frees the network; RemoveSandbox also forgets containers, logs and volumes.
	StopSandbox(ctx context.Context, uid types.UID) error
	RemoveSandbox(ctx context.Context, uid types.UID) error

	// PullImage makes the image present; ImagePresent asks without pulling.
	ImagePresent(ctx context.Context, image string) (bool, error)
	PullImage(ctx context.Context, image string, auths []RegistryAuth) (Image, error)

	// StartContainer creates and starts one attempt of a container and gives its ID. When it was created but did not
	// start (no such command), the error is a *StartError and the container is listed as exited or created;
	// any other error means that nothing was created.
	StartContainer(ctx context.Context, c ContainerConfig) (string, error)
	// StopContainer sends the stop signal, waits up to grace, then kills.
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	RemoveContainer(ctx context.Context, id string) error

	// Exec runs a command; a non-zero exit status is an *ExitError.
	Exec(ctx context.Context, id string, command []string, s Streams) error
	Attach(ctx context.Context, id string, s Streams) error
	// Logs writes the container's log; it returns at the end, or with Follow when the container has ended.
	Logs(ctx context.Context, id string, o LogOptions, stdout, stderr io.Writer) error
	// Dial connects to a port inside the pod's network (port-forward, proxy, probes).
	Dial(ctx context.Context, uid types.UID, network string, port int32) (io.ReadWriteCloser, error)
}

// Sandbox is a pod as the runtime has it.
type Sandbox struct {
	PodUID     types.UID
	Namespace  string
	Name       string
	Node       string // the node it was started for
	ID         string
	Ready      bool
	IPs        []string
	Created    time.Time
	Containers []Container
	Next       time.Time // of a Simulator: when something of it changes by itself; zero for never
}

// NotYet is a Simulator's refusal to run a sandbox before a time (a slow start that was asked for).
type NotYet struct{ Until time.Time }

func (e *NotYet) Error() string { return "not before " + e.Until.Format(time.RFC3339) }

// State of a container.
type State string

// The states, as in the CRI.
const (
	StateCreated State = "created"
	StateRunning State = "running"
	StateExited  State = "exited"
)

// Container is one attempt of a container of a pod.
type Container struct {
	ID       string // with the runtime's prefix: docker://...
	Name     string // of the container in the pod
	Attempt  int    // 0 first; restartCount
	Image    string
	ImageID  string
	State    State
	Created  time.Time
	Started  time.Time
	Finished time.Time
	ExitCode int32
	Reason   string // OOMKilled, Completed, Error
	Message  string // the termination message
	SpecHash string

	User       *corev1.LinuxContainerUser // nil when not known
	StopSignal string                     // SIGTERM; "" when not known
}

// ContainerConfig is all that starting one attempt needs, with everything resolved: no config map is read any more.
type ContainerConfig struct {
	Pod       *corev1.Pod
	Container *corev1.Container
	Attempt   int
	Command   []string // of the container with $(VAR) expanded; nil for the image's entrypoint
	Args      []string // the same; nil for the image's command
	Env       []EnvVar // sorted by name; overrides the image's
	Mounts    []Mount
	SpecHash  string
	Target    string // ID of the container whose process namespace an ephemeral container joins, or ""
	// TerminationMessagePath of the container is read when it exits (with FallbackToLogsOnError the end of its log).
}

// Image is what PullImage found.
type Image struct {
	ID   string
	Size int64 // bytes; 0 when not known
}

// StartError says that a container was created, but did not start.
type StartError struct {
	ID  string
	Err error
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// ConfigError says that a container was not created, since what its spec asks
// for cannot be given: the pod waits with the reason CreateContainerConfigError.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }

// Simulator is a Runtime that runs nothing. Its calls never wait, so the kubelet makes them inside a Step (one pass from
// bound to running), asks it for the results of probes and hooks, and does not ask for tokens that nobody would read.
type Simulator interface {
	Runtime
	// Restore gives it the pods of an earlier process: what their status says was running runs.
	Restore(pods []*corev1.Pod)
	// Reserve keeps the addresses of pods that are not its own, on nodes that an earlier fleet had, from being given again.
	Reserve(pods []*corev1.Pod)
	// Probe answers a probe of a container that started then: an empty failure is success. The answer stays the same
	// until the time given, zero for always, so nobody has to ask in between. kind is Startup, Liveness or Readiness.
	Probe(pod *corev1.Pod, c *corev1.Container, kind string, started time.Time) (failure string, until time.Time)
	// ReadyDelayed says whether a container without a readiness probe has to be asked all the same.
	ReadyDelayed(pod *corev1.Pod, c *corev1.Container) bool
}

// EnvVar is one resolved variable.
type EnvVar struct{ Name, Value string }

// Mount is one resolved mount: exactly one of HostPath, EmptyDir and Files is set.
type Mount struct {
	Volume      string // the volume's name in the pod
	Path        string // in the container
	SubPath     string
	ReadOnly    bool
	HostPath    string
	EmptyDir    *corev1.EmptyDirVolumeSource
	Files       []File // configMap, secret, downwardAPI, projected: the content; changed content is written again through UpdateFiles
	Propagation string
}

// File is one file of a volume.
type File struct {
	Path string // relative to the mount
	Data []byte
	Mode int32
}

// FilesUpdater is a Runtime that can rewrite the files of a running pod's volumes (config maps change, tokens rotate).
type FilesUpdater interface {
	UpdateFiles(ctx context.Context, uid types.UID, volume string, files []File) error
}

// Streams of exec and attach; nil ones are not connected. Resize gives terminal sizes (width, height).
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool
	Resize         <-chan TerminalSize
}

// TerminalSize in characters.
type TerminalSize struct{ Width, Height uint16 }

// LogOptions are those of pods/log that the runtime can do.
type LogOptions struct {
	Follow     bool
	Timestamps bool
	Since      time.Time // zero: from the start
	TailLines  *int64
	LimitBytes *int64
}

// RegistryAuth is one credential from an imagePullSecret.
type RegistryAuth struct{ Registry, Username, Password string }

// ExitError is the exit status of an exec that was not zero.
type ExitError struct{ Code int }

// ExitStatus makes it an api/stream ExitError.
func (e *ExitError) ExitStatus() int { return e.Code }

// Error says the status, in the words that kubectl expects.
func (e *ExitError) Error() string {
	return "command terminated with exit code " + strconv.Itoa(e.Code)
}
