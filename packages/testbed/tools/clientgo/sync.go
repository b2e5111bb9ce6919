package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

type syncTime struct {
	Objects int     `json:"objects"`
	Seconds float64 `json:"seconds"`
}

// timeSync fills an informer with the ConfigMaps of the namespace, in the given encoding, and measures the time until a handler has
// received all of them.
func (p *probe) timeSync(ctx context.Context, encoding string) (syncTime, error) {
	clients := map[string]kubernetes.Interface{"json": p.json, "protobuf": p.typed}
	client, known := clients[encoding]
	if !known {
		return syncTime{}, fmt.Errorf("-sync: want json or protobuf, got %q", encoding)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(p.namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	var seen atomic.Int64
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen.Add(1) }})
	if err != nil {
		return syncTime{}, err
	}
	began := time.Now()
	factory.Start(ctx.Done())
	for !registration.HasSynced() {
		if ctx.Err() != nil {
			return syncTime{}, fmt.Errorf("not synced: %w; received %d objects", ctx.Err(), seen.Load())
		}
		time.Sleep(time.Millisecond)
	}
	return syncTime{Objects: int(seen.Load()), Seconds: time.Since(began).Seconds()}, nil
}
