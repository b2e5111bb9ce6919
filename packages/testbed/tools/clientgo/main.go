// Command clientgo-probe uses an API server through client-go, as real controllers do, and prints its findings as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type probe struct {
	typed     kubernetes.Interface
	json      kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	config    *rest.Config
	namespace string
	objects   int
}

type check struct {
	name string
	run  func(context.Context) error
}

type result struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the server")
	namespace := flag.String("namespace", "default", "an existing namespace to work in")
	objects := flag.Int("objects", 100, "how many objects the writer creates")
	sync := flag.String("sync", "", "only fill an informer, in json or protobuf, and print how long that took")
	stream := flag.String("stream", "", "only open streams to this pod, which runs the probe with -serve")
	container := flag.String("container", "main", "the container of that pod")
	port := flag.Int("port", 9000, "the port of that pod")
	bytes := flag.Int("bytes", 10_000_000, "how much is sent over a stream")
	served := flag.Int("serve", 0, "be the program of such a pod, on this port")
	flag.Parse()

	if *served != 0 {
		fmt.Fprintln(os.Stderr, serve(*served))
		os.Exit(2)
	}
	p, err := connect(*kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	p.namespace, p.objects = *namespace, *objects
	if *sync != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		took, err := p.timeSync(ctx, *sync)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(took)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}

	checks := []check{
		{"typed client in protobuf", func(ctx context.Context) error { return p.lifecycle(ctx, p.typed, "proto") }},
		{"typed client in JSON", func(ctx context.Context) error { return p.lifecycle(ctx, p.json, "json") }},
		{"server-side apply", p.apply},
		{"paged list", p.pagedList},
		{"informers see every change once", p.informers},
		{"leader election", p.leaderElection},
		{"event recorder", p.eventRecorder},
	}
	if *stream != "" {
		pod := streamed{p.typed.CoreV1().RESTClient(), p.config, *namespace, *stream, *container, *port, *bytes}
		checks = pod.checks()
	}
	var results []result
	for _, check := range checks {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		err := check.run(ctx)
		cancel()
		r := result{Name: check.name, OK: err == nil}
		if err != nil {
			r.Detail = err.Error()
		}
		results = append(results, r)
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		os.Exit(2)
	}
}

func connect(kubeconfig string) (*probe, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 1000, 2000
	protobuf := rest.CopyConfig(config)
	protobuf.ContentType = "application/vnd.kubernetes.protobuf"
	protobuf.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	p := &probe{config: config}
	if p.typed, err = kubernetes.NewForConfig(protobuf); err != nil {
		return nil, err
	}
	// Typed clients use protobuf by default.
	text := rest.CopyConfig(config)
	text.ContentType = "application/json"
	if p.json, err = kubernetes.NewForConfig(text); err != nil {
		return nil, err
	}
	if p.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	p.metadata, err = metadata.NewForConfig(metadata.ConfigFor(config))
	return p, err
}
