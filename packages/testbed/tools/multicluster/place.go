package main

import (
	"context"
	"fmt"

	authentication "k8s.io/api/authentication/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kcpcore "github.com/kcp-dev/sdk/apis/core/v1alpha1"
	tenancy "github.com/kcp-dev/sdk/apis/tenancy/v1alpha1"
)

// place is a workspace, accessed by a certain user.
type place struct {
	config *rest.Config
	path   string
	// cluster is its id; empty if it was not looked up.
	cluster string
}

func (p place) restConfig() *rest.Config {
	config := rest.CopyConfig(p.config)
	config.Host += "/clusters/" + p.path
	return config
}

func (p place) client() (client.Client, error) {
	return client.New(p.restConfig(), client.Options{Scheme: scheme.Scheme})
}

func (p place) create(ctx context.Context, objects ...client.Object) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("%T %s: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// child creates a child workspace, and waits until it is ready.
func (p place) child(ctx context.Context, name, kind, kindPath string) (place, error) {
	child, err := p.begin(ctx, name, kind, kindPath)
	if err != nil {
		return place{}, err
	}
	return child, p.reaches(ctx, name, kcpcore.LogicalClusterPhaseReady)
}

// begin creates a child workspace, and waits until it has an id.
func (p place) begin(ctx context.Context, name, kind, kindPath string) (place, error) {
	workspace := &tenancy.Workspace{ObjectMeta: v1.ObjectMeta{Name: name}}
	workspace.Spec.Type = &tenancy.WorkspaceTypeReference{Name: tenancy.WorkspaceTypeName(kind), Path: kindPath}
	if err := p.create(ctx, workspace); err != nil {
		return place{}, err
	}
	c, err := p.client()
	if err != nil {
		return place{}, err
	}
	err = eventually(ctx, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(workspace), workspace); err != nil {
			return err
		}
		if workspace.Spec.Cluster == "" {
			return fmt.Errorf("%s has no cluster", name)
		}
		return nil
	})
	return place{config: p.config, path: p.path + ":" + name, cluster: workspace.Spec.Cluster}, err
}

func (p place) reaches(ctx context.Context, name string, phase kcpcore.LogicalClusterPhaseType) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	return eventually(ctx, func(ctx context.Context) error {
		workspace := &tenancy.Workspace{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, workspace); err != nil {
			return err
		}
		if workspace.Status.Phase != phase {
			return fmt.Errorf("%s is %s: %+v", name, workspace.Status.Phase, workspace.Status)
		}
		return nil
	})
}

func (p place) drop(ctx context.Context, name string) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	return c.Delete(ctx, &tenancy.Workspace{ObjectMeta: v1.ObjectMeta{Name: name}})
}

// asAccount creates a service account with the given rules, and returns the same workspace accessed by it: controllers run with few rights.
func (p place) asAccount(ctx context.Context, name string, rules []rbac.PolicyRule) (place, error) {
	account := &core.ServiceAccount{ObjectMeta: v1.ObjectMeta{Name: name, Namespace: "default"}}
	named := v1.ObjectMeta{Name: name}
	if err := p.create(ctx, account,
		&rbac.ClusterRole{ObjectMeta: named, Rules: rules},
		&rbac.ClusterRoleBinding{
			ObjectMeta: named,
			RoleRef:    rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbac.Subject{{Kind: "ServiceAccount", Name: name, Namespace: "default"}},
		},
	); err != nil {
		return place{}, err
	}
	c, err := p.client()
	if err != nil {
		return place{}, err
	}
	token := &authentication.TokenRequest{}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil {
		return place{}, err
	}
	config := rest.AnonymousClientConfig(p.config)
	config.BearerToken = token.Status.Token
	config.QPS, config.Burst = p.config.QPS, p.config.Burst
	return place{config: config, path: p.path, cluster: p.cluster}, nil
}
