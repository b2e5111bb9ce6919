package main

import (
	"context"
	"errors"
	"fmt"

	core "k8s.io/api/core/v1"
	eventsapi "k8s.io/api/events/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/kcp-dev/multicluster-provider/apiexport"
	pathaware "github.com/kcp-dev/multicluster-provider/path-aware"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
)

// The rights of a provider's controller in the workspace of its export.
var providing = []rbac.PolicyRule{
	{APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiexportendpointslices"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"apis.kcp.io"}, Resources: []string{"apiexports/content"}, ResourceNames: []string{exportName}, Verbs: []string{"*"}},
}

// fleet is a provider with consumers, and its controller.
type fleet struct {
	root, provider        place
	red, green, blue, new place
	controller            *controller
	running               *running
}

// exporting tests the objects of all workspaces that bind an export.
func exporting(root place) ([]result, error) {
	f := &fleet{root: root}
	results := inOrder(
		step{"an export is created and bound", f.prepare},
		step{"objects of all bound workspaces are reconciled", f.reconciled},
		step{"workspaces are found by their paths", f.found},
		step{"resources without an accepted claim are not accessible", f.refused},
		step{"changes are followed", f.followed},
		step{"owned objects are recreated", f.owned},
		step{"events are recorded in the workspace of the object", f.events},
		step{"a workspace is engaged when it binds", f.joined},
		step{"a workspace is disengaged when it unbinds", f.left},
		step{"a workspace is disengaged when it is deleted", f.deleted},
	)
	if f.running == nil {
		return results, nil
	}
	return append(results, inOrder(step{"the controllers stop", func(context.Context) error { return f.running.stop() }})...), nil
}

func (f *fleet) prepare(ctx context.Context) error {
	places := map[string]*place{"offers": &f.provider, "red": &f.red, "green": &f.green, "blue": &f.blue, "new": &f.new}
	for name, into := range places {
		made, err := f.root.child(ctx, name, "universal", "root")
		if err != nil {
			return err
		}
		*into = made
	}
	if err := f.provider.create(ctx, offer()...); err != nil {
		return err
	}
	for _, consumer := range []place{f.red, f.green} {
		if err := f.bind(ctx, consumer, apisv1alpha2.ClaimAccepted); err != nil {
			return err
		}
	}
	if err := f.bind(ctx, f.blue, apisv1alpha2.ClaimRejected); err != nil {
		return err
	}
	at, err := f.provider.asAccount(ctx, "gadgets", providing)
	if err != nil {
		return err
	}
	provider, err := pathaware.New(at.restConfig(), exportName, apiexport.Options{Scheme: scheme.Scheme})
	if err != nil {
		return err
	}
	f.running, err = start(at, provider, "gadgets", func(manager mcmanager.Manager) mcreconcile.Reconciler {
		f.controller = &controller{manager: manager}
		return f.controller
	}, &Gadget{}, &core.ConfigMap{})
	return err
}

// bind binds the export in a workspace, and creates a Gadget there as soon as possible.
func (f *fleet) bind(ctx context.Context, consumer place, state apisv1alpha2.AcceptablePermissionClaimState) error {
	if err := consumer.create(ctx, binding(f.provider, state)); err != nil {
		return err
	}
	gadget := &Gadget{ObjectMeta: v1.ObjectMeta{Name: "ball", Namespace: "default"}, Spec: GadgetSpec{Colour: "grey"}}
	return eventually(ctx, func(ctx context.Context) error { return consumer.create(ctx, gadget) })
}

func (f *fleet) reconciled(ctx context.Context) error {
	for _, consumer := range []place{f.red, f.green} {
		if err := consumer.shows(ctx, GadgetStatus{Colour: "grey", Note: "written"}); err != nil {
			return err
		}
		if err := consumer.hasNote(ctx, "grey"); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) found(ctx context.Context) error {
	cluster, err := f.running.manager.GetCluster(ctx, multicluster.ClusterName(f.green.path))
	if err != nil {
		return err
	}
	gadgets := &GadgetList{}
	if err := cluster.GetClient().List(ctx, gadgets); err != nil {
		return err
	}
	if len(gadgets.Items) != 1 {
		return fmt.Errorf("expected one, got %d", len(gadgets.Items))
	}
	return nil
}

func (f *fleet) refused(ctx context.Context) error {
	if err := f.blue.shows(ctx, GadgetStatus{Colour: "grey", Note: "refused"}); err != nil {
		return err
	}
	cluster, err := f.running.manager.GetCluster(ctx, multicluster.ClusterName(f.red.cluster))
	if err != nil {
		return err
	}
	direct, err := client.New(cluster.GetConfig(), client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return err
	}
	if err := direct.List(ctx, &core.SecretList{}); err == nil {
		return errors.New("secrets are visible, though nobody claimed them")
	}
	return nil
}

func (f *fleet) followed(ctx context.Context) error {
	c, err := f.green.client()
	if err != nil {
		return err
	}
	gadget := &Gadget{ObjectMeta: v1.ObjectMeta{Name: "ball", Namespace: "default"}}
	if err := c.Patch(ctx, gadget, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"colour":"gold"}}`))); err != nil {
		return err
	}
	if err := f.green.shows(ctx, GadgetStatus{Colour: "gold", Note: "written"}); err != nil {
		return err
	}
	return f.red.shows(ctx, GadgetStatus{Colour: "grey", Note: "written"})
}

func (f *fleet) owned(ctx context.Context) error {
	c, err := f.red.client()
	if err != nil {
		return err
	}
	note := &core.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: "ball", Namespace: "default"}}
	if err := c.Get(ctx, client.ObjectKeyFromObject(note), note); err != nil {
		return err
	}
	before := note.UID
	if err := c.Delete(ctx, note); err != nil {
		return err
	}
	return eventually(ctx, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(note), note); err != nil {
			return err
		}
		if note.UID == before {
			return errors.New("the old object still exists")
		}
		return nil
	})
}

func (f *fleet) events(ctx context.Context) error {
	c, err := f.green.client()
	if err != nil {
		return err
	}
	return eventually(ctx, func(ctx context.Context) error {
		events := &eventsapi.EventList{}
		if err := c.List(ctx, events, client.InNamespace("default")); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "Coloured" && event.Note == "the gadget is gold" {
				return nil
			}
		}
		return fmt.Errorf("none of %d events refers to it", len(events.Items))
	})
}

func (f *fleet) joined(ctx context.Context) error {
	if err := f.bind(ctx, f.new, apisv1alpha2.ClaimAccepted); err != nil {
		return err
	}
	return f.new.shows(ctx, GadgetStatus{Colour: "grey", Note: "written"})
}

func (f *fleet) left(ctx context.Context) error {
	c, err := f.green.client()
	if err != nil {
		return err
	}
	if err := c.Delete(ctx, &apisv1alpha2.APIBinding{ObjectMeta: v1.ObjectMeta{Name: exportName}}); err != nil {
		return err
	}
	if err := f.isDisengaged(ctx, f.green); err != nil {
		return err
	}
	if !f.controller.hasFinalized(f.green.cluster) {
		return errors.New("its finalizer did not run")
	}
	return eventually(ctx, func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKey{Name: exportName}, &apisv1alpha2.APIBinding{})
		if err == nil {
			return errors.New("the binding still exists")
		}
		return client.IgnoreNotFound(err)
	})
}

func (f *fleet) deleted(ctx context.Context) error {
	if err := f.root.drop(ctx, "new"); err != nil {
		return err
	}
	if err := f.isDisengaged(ctx, f.new); err != nil {
		return err
	}
	if _, err := f.running.manager.GetCluster(ctx, multicluster.ClusterName(f.red.cluster)); err != nil {
		return fmt.Errorf("red should stay: %w", err)
	}
	return nil
}

func (f *fleet) isDisengaged(ctx context.Context, gone place) error {
	return eventually(ctx, func(ctx context.Context) error {
		for _, name := range []string{gone.cluster, gone.path} {
			if _, err := f.running.manager.GetCluster(ctx, multicluster.ClusterName(name)); !errors.Is(err, multicluster.ErrClusterNotFound) {
				return fmt.Errorf("%s is still engaged: %v", name, err)
			}
		}
		return nil
	})
}

// shows waits until the Gadget of a workspace has a status.
func (p place) shows(ctx context.Context, status GadgetStatus) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	return eventually(ctx, func(ctx context.Context) error {
		gadget := &Gadget{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "ball"}, gadget); err != nil {
			return err
		}
		if gadget.Status != status {
			return fmt.Errorf("in %s it is %+v, expected %+v", p.path, gadget.Status, status)
		}
		return nil
	})
}

func (p place) hasNote(ctx context.Context, colour string) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	note := &core.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "ball"}, note); err != nil {
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("%s has no note", p.path)
		}
		return err
	}
	if note.Data["colour"] != colour {
		return fmt.Errorf("the note of %s says %q, expected %q", p.path, note.Data["colour"], colour)
	}
	return nil
}
