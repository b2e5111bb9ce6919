package main

import (
	"context"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "testbed.capstan.dev/farewell"

type reconciler struct {
	client   client.Client
	recorder record.EventRecorder
}

// Reconcile keeps a ConfigMap with the greeting, reports it in the status, and cleans up before the Greeter is deleted.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	greeter := &Greeter{}
	if err := r.client.Get(ctx, request.NamespacedName, greeter); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !greeter.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.farewell(ctx, greeter)
	}
	if controllerutil.AddFinalizer(greeter, finalizer) {
		return reconcile.Result{}, r.client.Update(ctx, greeter)
	}
	greeting := strings.TrimSpace(strings.Repeat("Hello "+greeter.Spec.Name+" ", int(greeter.Spec.Times)))
	held := &core.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: greeter.Name, Namespace: greeter.Namespace}}
	change, err := controllerutil.CreateOrUpdate(ctx, r.client, held, func() error {
		held.Data = map[string]string{"greeting": greeting}
		return controllerutil.SetControllerReference(greeter, held, r.client.Scheme())
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	if change != controllerutil.OperationResultNone {
		r.recorder.Eventf(greeter, core.EventTypeNormal, "Greeted", "ConfigMap %s was %s", held.Name, change)
	}
	return reconcile.Result{}, r.say(ctx, greeter, greeting)
}

func (r *reconciler) say(ctx context.Context, greeter *Greeter, greeting string) error {
	before := greeter.DeepCopyObject().(*Greeter)
	greeter.Status.Greeting = greeting
	greeter.Status.ObservedGeneration = greeter.Generation
	meta.SetStatusCondition(&greeter.Status.Conditions, v1.Condition{
		Type: "Ready", Status: v1.ConditionTrue, Reason: "Greeted", Message: "the greeting exists", ObservedGeneration: greeter.Generation,
	})
	return r.client.Status().Patch(ctx, greeter, client.MergeFrom(before))
}

func (r *reconciler) farewell(ctx context.Context, greeter *Greeter) error {
	if !controllerutil.ContainsFinalizer(greeter, finalizer) {
		return nil
	}
	// A bare API server has no garbage collector.
	held := &core.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: greeter.Name, Namespace: greeter.Namespace}}
	if err := client.IgnoreNotFound(r.client.Delete(ctx, held)); err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(greeter, finalizer)
	return r.client.Update(ctx, greeter)
}
