package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

const churnLabel = "churn=yes"

// ledger counts the events of an informer and checks their order.
type ledger struct {
	mutex    sync.Mutex
	name     string
	added    int
	updated  int
	deleted  int
	versions map[string]uint64
	fault    error
}

func (l *ledger) OnAdd(object any, _ bool) { l.note(object, &l.added) }
func (l *ledger) OnUpdate(_, object any)   { l.note(object, &l.updated) }
func (l *ledger) OnDelete(object any) {
	if unknown, lost := object.(cache.DeletedFinalStateUnknown); lost {
		l.mutex.Lock()
		l.fault = fmt.Errorf("%s: the deletion of %s was missed", l.name, unknown.Key)
		l.mutex.Unlock()
		return
	}
	l.note(object, &l.deleted)
}

func (l *ledger) note(object any, count *int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	*count++
	accessor, err := meta.Accessor(object)
	if err != nil {
		l.fault = err
		return
	}
	version, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		l.fault = err
		return
	}
	if last := l.versions[accessor.GetName()]; version <= last {
		l.fault = fmt.Errorf("%s: %s went from version %d to %d", l.name, accessor.GetName(), last, version)
	}
	l.versions[accessor.GetName()] = version
}

func (l *ledger) state() (string, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return fmt.Sprintf("%s: %d added, %d updated, %d deleted", l.name, l.added, l.updated, l.deleted), l.fault
}

// informers runs a typed (protobuf), a dynamic (JSON) and a metadata informer beside a writer. Each must see every change exactly once and
// in order.
func (p *probe) informers(ctx context.Context) error {
	before := p.objects / 4
	for i := range before {
		if err := p.churnCreate(ctx, i); err != nil {
			return err
		}
	}
	selector := func(options *metav1.ListOptions) { options.LabelSelector = churnLabel }
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	typed := informers.NewSharedInformerFactoryWithOptions(p.typed, 0, informers.WithNamespace(p.namespace), informers.WithTweakListOptions(selector))
	dynamics := dynamicinformer.NewFilteredDynamicSharedInformerFactory(p.dynamic, 0, p.namespace, selector)
	metadatas := metadatainformer.NewFilteredSharedInformerFactory(p.metadata, 0, p.namespace, selector)
	all := []struct {
		ledger   *ledger
		informer cache.SharedIndexInformer
	}{
		{&ledger{name: "typed", versions: map[string]uint64{}}, typed.Core().V1().ConfigMaps().Informer()},
		{&ledger{name: "dynamic", versions: map[string]uint64{}}, dynamics.ForResource(resource).Informer()},
		{&ledger{name: "metadata", versions: map[string]uint64{}}, metadatas.ForResource(resource).Informer()},
	}
	for _, one := range all {
		if _, err := one.informer.AddEventHandler(one.ledger); err != nil {
			return err
		}
	}
	typed.Start(ctx.Done())
	dynamics.Start(ctx.Done())
	metadatas.Start(ctx.Done())
	for _, one := range all {
		if !cache.WaitForCacheSync(ctx.Done(), one.informer.HasSynced) {
			return fmt.Errorf("%s: not synced", one.ledger.name)
		}
		if len(one.informer.GetStore().List()) != before {
			return fmt.Errorf("%s: want %d objects after the sync, got %d", one.ledger.name, before, len(one.informer.GetStore().List()))
		}
	}
	if err := p.churn(ctx, before); err != nil {
		return err
	}
	for _, one := range all {
		want := fmt.Sprintf("%s: %d added, %d updated, %d deleted", one.ledger.name, p.objects, 2*p.objects, p.objects)
		if err := waitFor(ctx, one.ledger, want); err != nil {
			return err
		}
	}
	return nil
}

func (p *probe) churn(ctx context.Context, before int) error {
	configMaps := p.typed.CoreV1().ConfigMaps(p.namespace)
	failures := make(chan error, p.objects)
	var writers sync.WaitGroup
	for i := range p.objects {
		writers.Add(1)
		go func() {
			defer writers.Done()
			name := churnName(i)
			if i >= before {
				if err := p.churnCreate(ctx, i); err != nil {
					failures <- err
					return
				}
			}
			for step := range 2 {
				patch := fmt.Sprintf(`{"data":{"step":"%d"}}`, step+1)
				if _, err := configMaps.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
					failures <- err
					return
				}
			}
			if err := configMaps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				failures <- err
			}
		}()
	}
	writers.Wait()
	close(failures)
	return <-failures
}

func churnName(i int) string { return fmt.Sprintf("churn-%04d", i) }

func (p *probe) churnCreate(ctx context.Context, i int) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: churnName(i), Labels: map[string]string{"churn": "yes"}}, Data: map[string]string{"step": "0"}}
	_, err := p.typed.CoreV1().ConfigMaps(p.namespace).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// waitFor waits until the ledger shows the wanted counts, then a little longer for unexpected events.
func waitFor(ctx context.Context, l *ledger, want string) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		state, fault := l.state()
		if fault != nil {
			return fault
		}
		if state == want {
			break
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("want %q, got %q", want, state)
		}
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	if state, fault := l.state(); fault != nil || state != want {
		return fmt.Errorf("want it to stay %q, got %q, %v", want, state, fault)
	}
	return nil
}
