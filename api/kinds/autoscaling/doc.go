// Package autoscaling holds the HorizontalPodAutoscaler, served as autoscaling/v2
// and v1.
//
// Why this shape: v2 is the hub. v1 knows one metric, the utilization of the CPU;
// whatever else a v2 object holds travels in annotations of the v1 form, so that
// a client that reads and writes v1 loses nothing.
//
// Hardest part: those annotations (convert.go). The behavior annotation holds Go
// field names, because upstream once wrote its internal type there.
//
// What can be lost: nothing; everything here is a pure function.
package autoscaling
