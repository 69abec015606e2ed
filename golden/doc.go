// Package golden holds what kuberow answered once and must go on answering:
// scripts of real kubectl sessions (testdata/script, run with testscript) and
// their outputs. README.md here says how to record and replay them.
//
// The clients are real: kubectl is upstream's, built by kubectl/VERSION; pods
// run on a real Docker engine where one answers, from images that the tests make
// themselves.
package golden
