// Command operator is a small controller-runtime operator. It creates its own kind, runs, uses it, and prints its findings as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	core "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const leaseName = "greeters.testbed.capstan.dev"

type result struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

func main() {
	kubeconfig := flag.String("kubeconfig-file", "", "kubeconfig of the server")
	namespace := flag.String("namespace", "default", "an existing namespace to work in")
	flag.Parse()
	log.SetLogger(logr.Discard())
	results, err := run(*kubeconfig, *namespace)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(results)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(kubeconfig, namespace string) ([]result, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 2000
	scheme := runtime.NewScheme()
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := apiextensions.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addGreeters(scheme)
	// The checks read from the server, not from the operator's cache.
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	c := &checker{client: direct, namespace: namespace}
	results := []result{check("the definition is established", c.definition)}
	if !results[0].OK {
		return results, nil
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped, err := start(ctx, config, manager.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		stop()
		return results, err
	}
	results = append(results,
		check("the operator leads", c.leader),
		check("every object is reconciled", c.reconciled),
		check("changes are followed", c.followed),
		check("invalid objects are rejected", c.refused),
		check("events are recorded", c.events),
		check("finalizers run", c.finalized),
	)
	stop()
	return append(results, check("the operator stops", func(context.Context) error { return <-stopped })), nil
}

func start(ctx context.Context, config *rest.Config, options manager.Options) (<-chan error, error) {
	operator, err := manager.New(config, options)
	if err != nil {
		return nil, err
	}
	err = builder.ControllerManagedBy(operator).For(&Greeter{}).Owns(&core.ConfigMap{}).Complete(&reconciler{
		client:   operator.GetClient(),
		recorder: operator.GetEventRecorderFor("greeter"),
	})
	if err != nil {
		return nil, err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- operator.Start(ctx) }()
	return stopped, nil
}

func check(name string, run func(context.Context) error) result {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		return result{Name: name, Detail: err.Error()}
	}
	return result{Name: name, OK: true}
}
