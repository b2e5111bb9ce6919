// Command kubectl is Kubernetes' own, built from the same libraries as the other test programs.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	// Authentication plugins that a kubeconfig can name.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() {
	// Prints the error and sets the exit code.
	util.CheckErr(cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()))
}
