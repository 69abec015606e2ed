// Package clients holds tests of other people's clients against a running
// kuberow: client-go's informers and its dynamic, metadata, discovery and scale
// clients, controller-runtime's manager, helm's library, @kubernetes/client-node.
//
// It is a module of its own, so that none of these becomes a dependency of the
// product, and it imports nothing of kuberow: all it knows is the binary that
// $KUBEROW names and the kubeconfig that the binary writes. Against another
// server: set KUBECONFIG_OF_SERVER instead.
package clients
