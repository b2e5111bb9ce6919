package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const count = 20

type checker struct {
	client    client.Client
	namespace string
}

// eventually retries until there is no error.
func eventually(ctx context.Context, wrong func() error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		last = wrong()
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(last, err)
	}
	return nil
}

func (c *checker) definition(ctx context.Context) error {
	definition := greeterDefinition()
	if err := c.client.Create(ctx, definition); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return eventually(ctx, func() error {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return err
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensions.Established && condition.Status == apiextensions.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("not established: %v", definition.Status.Conditions)
	})
}

func (c *checker) leader(ctx context.Context) error {
	return eventually(ctx, func() error {
		lease := &coordination.Lease{}
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: leaseName}, lease); err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return errors.New("nobody holds the lease")
		}
		return nil
	})
}

func (c *checker) greeter(index int) *Greeter {
	return &Greeter{
		ObjectMeta: v1.ObjectMeta{Name: fmt.Sprintf("greeter-%d", index), Namespace: c.namespace},
		Spec:       GreeterSpec{Name: fmt.Sprintf("n%d", index)},
	}
}

func (c *checker) reconciled(ctx context.Context) error {
	for i := range count {
		if err := c.client.Create(ctx, c.greeter(i)); err != nil {
			return err
		}
	}
	for i := range count {
		if err := c.says(ctx, i, fmt.Sprintf("Hello n%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// says waits until the status and the ConfigMap contain the greeting for the newest spec.
func (c *checker) says(ctx context.Context, index int, greeting string) error {
	greeter := c.greeter(index)
	return eventually(ctx, func() error {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(greeter), greeter); err != nil {
			return err
		}
		if greeter.Status.Greeting != greeting || greeter.Status.ObservedGeneration != greeter.Generation {
			return fmt.Errorf("%s: generation %d has status %+v", greeter.Name, greeter.Generation, greeter.Status)
		}
		if !meta.IsStatusConditionTrue(greeter.Status.Conditions, "Ready") {
			return fmt.Errorf("%s is not ready", greeter.Name)
		}
		held := &core.ConfigMap{}
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(greeter), held); err != nil {
			return err
		}
		if held.Data["greeting"] != greeting || !v1.IsControlledBy(held, greeter) {
			return fmt.Errorf("ConfigMap %s has %v and owners %v", held.Name, held.Data, held.OwnerReferences)
		}
		return nil
	})
}

func (c *checker) followed(ctx context.Context) error {
	greeter := c.greeter(0)
	if err := c.client.Patch(ctx, greeter, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"times":2}}`))); err != nil {
		return err
	}
	if err := c.says(ctx, 0, "Hello n0 Hello n0"); err != nil {
		return err
	}
	lost := &core.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: "greeter-1", Namespace: c.namespace}}
	if err := c.client.Delete(ctx, lost); err != nil {
		return err
	}
	return c.says(ctx, 1, "Hello n1")
}

func (c *checker) refused(ctx context.Context) error {
	for want, spec := range map[string]GreeterSpec{
		"spec.times: Invalid value": {Name: "x", Times: 11},
		"nobody cannot be greeted":  {Name: "nobody"},
	} {
		greeter := c.greeter(count)
		greeter.Spec = spec
		err := c.client.Create(ctx, greeter)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("expected an error with %q, got %v", want, err)
		}
	}
	return nil
}

func (c *checker) events(ctx context.Context) error {
	return eventually(ctx, func() error {
		list := &core.EventList{}
		if err := c.client.List(ctx, list, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, event := range list.Items {
			if event.Reason == "Greeted" && event.InvolvedObject.Kind == "Greeter" {
				seen[event.InvolvedObject.Name] = true
			}
		}
		if len(seen) < count {
			return fmt.Errorf("events were recorded for %d of %d objects", len(seen), count)
		}
		return nil
	})
}

func (c *checker) finalized(ctx context.Context) error {
	if err := c.client.DeleteAllOf(ctx, &Greeter{}, client.InNamespace(c.namespace)); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		left := &GreeterList{}
		if err := c.client.List(ctx, left, client.InNamespace(c.namespace)); err != nil {
			return err
		}
		if len(left.Items) > 0 {
			return fmt.Errorf("%d are left", len(left.Items))
		}
		return nil
	})
}
