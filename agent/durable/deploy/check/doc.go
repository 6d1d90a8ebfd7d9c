// Package check holds compose.yaml and the manifests of the folder above against what
// reads them: Compose's own loader with the schema of its specification, Kustomize, the
// validation of Kubernetes' API server, and KEDA's definitions. It has nothing but tests,
// in a module of its own, so that nobody else is built with that.
package check
