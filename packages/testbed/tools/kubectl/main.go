// Command kubectl is Kubernetes' own, built from the libraries that the other programs of the tests are built from.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	// Ways to sign in that a kubeconfig can name.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() {
	// What went wrong is printed, and the exit code belongs to it.
	util.CheckErr(cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()))
}
