// Command multicluster runs controllers built with kcp's providers for multicluster-runtime, as their authors would. It creates workspaces
// for them and prints its findings as JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	apis "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	kcpcore "github.com/kcp-dev/sdk/apis/core/v1alpha1"
	tenancy "github.com/kcp-dev/sdk/apis/tenancy/v1alpha1"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	kubeconfig := flag.String("kubeconfig-file", "", "kubeconfig of an administrator, with a server address without a path")
	verbose := flag.Bool("verbose", false, "print the log output of the libraries")
	flag.Parse()
	if *verbose {
		log.SetLogger(stderrLogger())
	} else {
		log.SetLogger(logr.Discard())
	}
	for _, add := range []func() error{
		func() error { return apis.AddToScheme(scheme.Scheme) },
		func() error { return apisv1alpha2.AddToScheme(scheme.Scheme) },
		func() error { return kcpcore.AddToScheme(scheme.Scheme) },
		func() error { return tenancy.AddToScheme(scheme.Scheme) },
	} {
		runtime.Must(add())
	}
	addGadgets(scheme.Scheme)
	results, err := run(*kubeconfig)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(kubeconfig string) ([]result, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 2000
	root := place{config: config, path: "root"}
	results, err := exporting(root)
	if err != nil {
		return nil, err
	}
	more, err := beginningAndEnding(root)
	return append(results, more...), err
}
