package cluster

import (
	"context"
	"io"
	"net"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kuberow/api/stream"
)

// lateNodes are the nodes as soon as there are any: the API is built before
// the kubelet is, and answers that it is early until then.
type lateNodes struct{ c *Cluster }

func (l lateNodes) nodes() (stream.Nodes, error) {
	if l.c.kubelet == nil {
		return nil, apierrors.NewServiceUnavailable("the nodes are starting; try again in a moment")
	}
	return l.c.kubelet, nil
}

func (l lateNodes) Logs(ctx context.Context, pod *corev1.Pod, o *corev1.PodLogOptions, w io.Writer) error {
	n, err := l.nodes()
	if err != nil {
		return err
	}
	return n.Logs(ctx, pod, o, w)
}

func (l lateNodes) Exec(ctx context.Context, pod *corev1.Pod, container string, command []string, s stream.Streams) error {
	n, err := l.nodes()
	if err != nil {
		return err
	}
	return n.Exec(ctx, pod, container, command, s)
}

func (l lateNodes) Attach(ctx context.Context, pod *corev1.Pod, container string, s stream.Streams) error {
	n, err := l.nodes()
	if err != nil {
		return err
	}
	return n.Attach(ctx, pod, container, s)
}

func (l lateNodes) Dial(ctx context.Context, pod *corev1.Pod, network string, port int32) (net.Conn, error) {
	n, err := l.nodes()
	if err != nil {
		return nil, err
	}
	return n.Dial(ctx, pod, network, port)
}
