package main

import (
	"context"
	"slices"
	"sync"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
)

const finalizer = "gadgets.capstan.dev/controller"

// controller writes a note for every Gadget, in whichever workspace, and reports it in the status and by an event.
type controller struct {
	manager mcmanager.Manager
	lock    sync.Mutex
	// finalized are the clusters in which a Gadget's finalizer ran.
	finalized []string
}

func (c *controller) Reconcile(ctx context.Context, request mcreconcile.Request) (reconcile.Result, error) {
	cluster, err := c.manager.GetCluster(ctx, request.ClusterName)
	if err != nil {
		return reconcile.Result{}, err
	}
	writer := cluster.GetClient()
	gadget := &Gadget{}
	if err := writer.Get(ctx, request.NamespacedName, gadget); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if gadget.DeletionTimestamp != nil {
		return reconcile.Result{}, c.finalize(ctx, writer, request.ClusterName, gadget)
	}
	if controllerutil.AddFinalizer(gadget, finalizer) {
		return reconcile.Result{}, writer.Update(ctx, gadget)
	}
	status := GadgetStatus{Colour: gadget.Spec.Colour}
	note := &core.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: gadget.Name, Namespace: gadget.Namespace}}
	_, err = controllerutil.CreateOrUpdate(ctx, writer, note, func() error {
		note.Data = map[string]string{"colour": gadget.Spec.Colour}
		return controllerutil.SetControllerReference(gadget, note, cluster.GetScheme())
	})
	switch {
	case err == nil:
		status.Note = "written"
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		status.Note = "refused"
	default:
		return reconcile.Result{}, err
	}
	if gadget.Status == status {
		return reconcile.Result{}, nil
	}
	gadget.Status = status
	if err := writer.Status().Update(ctx, gadget); err != nil {
		return reconcile.Result{}, err
	}
	cluster.GetEventRecorder("gadgets").Eventf(gadget, nil, core.EventTypeNormal, "Coloured", "Colour", "the gadget is %s", gadget.Spec.Colour)
	return reconcile.Result{}, nil
}

func (c *controller) finalize(ctx context.Context, writer client.Client, cluster multicluster.ClusterName, gadget *Gadget) error {
	if !controllerutil.RemoveFinalizer(gadget, finalizer) {
		return nil
	}
	if err := writer.Update(ctx, gadget); err != nil {
		return client.IgnoreNotFound(err)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.finalized = append(c.finalized, cluster.String())
	return nil
}

func (c *controller) hasFinalized(cluster string) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Contains(c.finalized, cluster)
}

// running is a started manager.
type running struct {
	manager mcmanager.Manager
	stop    func() error
}

// start runs a manager with a controller for one kind; the controller owns every other kind given.
func start(at place, provider multicluster.Provider, name string, makeReconciler func(mcmanager.Manager) mcreconcile.Reconciler, kind client.Object, owned ...client.Object) (*running, error) {
	manager, err := mcmanager.New(at.restConfig(), provider, mcmanager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	builder := mcbuilder.ControllerManagedBy(manager).Named(name).For(kind)
	for _, one := range owned {
		builder = builder.Owns(one)
	}
	if err := builder.Complete(makeReconciler(manager)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	return &running{manager: manager, stop: func() error {
		cancel()
		return <-stopped
	}}, nil
}
