package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/clusters"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/kcp-dev/multicluster-provider/initializingworkspaces"
	mcpcache "github.com/kcp-dev/multicluster-provider/pkg/cache"
	"github.com/kcp-dev/multicluster-provider/pkg/events/recorder"
	kcpprovider "github.com/kcp-dev/multicluster-provider/pkg/provider"
	kcpcore "github.com/kcp-dev/sdk/apis/core/v1alpha1"
	"github.com/kcp-dev/sdk/apis/tenancy/initialization"
	"github.com/kcp-dev/sdk/apis/tenancy/termination"
	tenancy "github.com/kcp-dev/sdk/apis/tenancy/v1alpha1"
)

const typeName = "prepared"

// The rights of a controller that initializes workspaces, in the workspace of their type.
var preparing = []rbac.PolicyRule{
	{APIGroups: []string{"tenancy.kcp.io"}, Resources: []string{"workspacetypes"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"tenancy.kcp.io"}, Resources: []string{"workspacetypes"}, ResourceNames: []string{typeName}, Verbs: []string{"initialize", "terminate"}},
}

// lifecycle initializes workspaces of a type, and cleans up after them.
type lifecycle struct {
	root, at, first, second place
	kind                    *tenancy.WorkspaceType
	initializer, terminator *running
	lock                    sync.Mutex
	terminated              []string
}

// beginningAndEnding tests workspaces that wait for a controller before they are ready, and before they are deleted.
func beginningAndEnding(root place) ([]result, error) {
	l := &lifecycle{root: root}
	results := inOrder(
		step{"a workspace type has an initializer and a terminator", l.prepare},
		step{"workspaces of the type wait for the controller", l.waits},
		step{"the controller initializes them", l.initialized},
		step{"they are disengaged after initialization", l.disengaged},
		step{"the controller terminates them", l.ended},
	)
	for _, one := range []*running{l.initializer, l.terminator} {
		if one != nil {
			if err := one.stop(); err != nil {
				return results, err
			}
		}
	}
	return results, nil
}

func (l *lifecycle) prepare(ctx context.Context) error {
	home, err := l.root.child(ctx, "types", "universal", "root")
	if err != nil {
		return err
	}
	l.root = home
	l.kind = &tenancy.WorkspaceType{ObjectMeta: v1.ObjectMeta{Name: typeName}}
	l.kind.Spec.Initializer, l.kind.Spec.Terminator = true, true
	l.kind.Spec.Extend.With = []tenancy.WorkspaceTypeReference{{Name: "universal", Path: "root"}}
	if err := home.create(ctx, l.kind); err != nil {
		return err
	}
	c, err := home.client()
	if err != nil {
		return err
	}
	if err := eventually(ctx, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(l.kind), l.kind); err != nil {
			return err
		}
		if len(l.kind.Status.VirtualWorkspaces) < 2 {
			return fmt.Errorf("the type has no addresses: %+v", l.kind.Status)
		}
		return nil
	}); err != nil {
		return err
	}
	l.at, err = home.asAccount(ctx, "preparer", preparing)
	return err
}

func (l *lifecycle) waits(ctx context.Context) (err error) {
	if l.first, err = l.root.begin(ctx, "first", typeName, l.root.path); err != nil {
		return err
	}
	return l.root.reaches(ctx, "first", kcpcore.LogicalClusterPhaseInitializing)
}

func (l *lifecycle) initialized(ctx context.Context) error {
	provider, err := initializingworkspaces.New(l.at.restConfig(), typeName, initializingworkspaces.Options{})
	if err != nil {
		return err
	}
	if l.initializer, err = start(l.at, provider, "initializer", l.initialize, &kcpcore.LogicalCluster{}); err != nil {
		return err
	}
	if l.second, err = l.root.begin(ctx, "second", typeName, l.root.path); err != nil {
		return err
	}
	for name, made := range map[string]place{"first": l.first, "second": l.second} {
		if err := l.root.reaches(ctx, name, kcpcore.LogicalClusterPhaseReady); err != nil {
			return err
		}
		c, err := made.client()
		if err != nil {
			return err
		}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "welcome"}, &core.ConfigMap{}); err != nil {
			return err
		}
	}
	return nil
}

// initialize creates a ConfigMap in a new workspace, and removes the initializer.
func (l *lifecycle) initialize(manager mcmanager.Manager) mcreconcile.Reconciler {
	return mcreconcile.Func(func(ctx context.Context, request mcreconcile.Request) (reconcile.Result, error) {
		cluster, err := manager.GetCluster(ctx, request.ClusterName)
		if err != nil {
			return reconcile.Result{}, err
		}
		writer, waiting := cluster.GetClient(), &kcpcore.LogicalCluster{}
		if err := writer.Get(ctx, request.NamespacedName, waiting); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		mine := initialization.InitializerForType(l.kind)
		if !slices.Contains(waiting.Status.Initializers, mine) {
			return reconcile.Result{}, nil
		}
		welcome := &core.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: "welcome", Namespace: "default"}}
		if err := writer.Create(ctx, welcome); client.IgnoreAlreadyExists(err) != nil {
			return reconcile.Result{}, err
		}
		patch := client.MergeFrom(waiting.DeepCopy())
		waiting.Status.Initializers = initialization.EnsureInitializerAbsent(mine, waiting.Status.Initializers)
		return reconcile.Result{}, writer.Status().Patch(ctx, waiting, patch)
	})
}

func (l *lifecycle) disengaged(ctx context.Context) error {
	return eventually(ctx, func(ctx context.Context) error {
		for _, made := range []place{l.first, l.second} {
			if _, err := l.initializer.manager.GetCluster(ctx, multicluster.ClusterName(made.cluster)); !errors.Is(err, multicluster.ErrClusterNotFound) {
				return fmt.Errorf("%s is still engaged: %v", made.path, err)
			}
		}
		return nil
	})
}

func (l *lifecycle) ended(ctx context.Context) error {
	provider, err := terminatingWorkspaces(l.at.restConfig())
	if err != nil {
		return err
	}
	if l.terminator, err = start(l.at, provider, "terminator", l.terminate, &kcpcore.LogicalCluster{}); err != nil {
		return err
	}
	if err := l.root.drop(ctx, "first"); err != nil {
		return err
	}
	c, err := l.root.client()
	if err != nil {
		return err
	}
	if err := eventually(ctx, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKey{Name: "first"}, &tenancy.Workspace{}); err == nil {
			return errors.New("the workspace still exists")
		} else {
			return client.IgnoreNotFound(err)
		}
	}); err != nil {
		return err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if !slices.Equal(l.terminated, []string{l.first.cluster}) {
		return fmt.Errorf("%v were terminated, expected only %s", l.terminated, l.first.cluster)
	}
	return nil
}

// terminate removes the terminator.
func (l *lifecycle) terminate(manager mcmanager.Manager) mcreconcile.Reconciler {
	return mcreconcile.Func(func(ctx context.Context, request mcreconcile.Request) (reconcile.Result, error) {
		cluster, err := manager.GetCluster(ctx, request.ClusterName)
		if err != nil {
			return reconcile.Result{}, err
		}
		writer, ending := cluster.GetClient(), &kcpcore.LogicalCluster{}
		if err := writer.Get(ctx, request.NamespacedName, ending); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		mine := termination.TerminatorForType(l.kind)
		if !slices.Contains(ending.Status.Terminators, mine) {
			return reconcile.Result{}, nil
		}
		patch := client.MergeFrom(ending.DeepCopy())
		ending.Status.Terminators = slices.DeleteFunc(ending.Status.Terminators, func(one kcpcore.LogicalClusterTerminator) bool { return one == mine })
		if err := writer.Status().Patch(ctx, ending, patch); err != nil {
			return reconcile.Result{}, err
		}
		l.lock.Lock()
		defer l.lock.Unlock()
		l.terminated = append(l.terminated, request.ClusterName.String())
		return reconcile.Result{}, nil
	})
}

// terminatingWorkspaces is built from the same parts as kcp's provider for initializing workspaces; kcp has none for terminating ones.
func terminatingWorkspaces(config *rest.Config) (multicluster.Provider, error) {
	kinds, err := cache.New(config, cache.Options{
		Scheme: scheme.Scheme,
		ByObject: map[client.Object]cache.ByObject{
			&tenancy.WorkspaceType{}: {Field: fields.OneTermEqualSelector("metadata.name", typeName)},
		},
	})
	if err != nil {
		return nil, err
	}
	return &kcpprovider.Factory{
		Clusters:  ptr.To(clusters.New[cluster.Cluster]()),
		Providers: kcpprovider.NewProviders(),
		Log:       log.Log,
		GetVWs: func(object client.Object) (addresses []string, _ error) {
			for _, one := range object.(*tenancy.WorkspaceType).Status.VirtualWorkspaces {
				if strings.Contains(one.URL, "/terminatingworkspaces/") {
					addresses = append(addresses, one.URL)
				}
			}
			return addresses, nil
		},
		Config: config,
		Scheme: scheme.Scheme,
		Outer:  &tenancy.WorkspaceType{},
		Inner:  &kcpcore.LogicalCluster{},
		Cache:  kinds,
		NewCluster: func(config *rest.Config, name logicalcluster.Name, all mcpcache.WildcardCache, scheme *runtime.Scheme, _ recorder.EventRecorderGetter) (*mcpcache.ScopedCluster, error) {
			return mcpcache.NewScopedInitializingCluster(config, name, all, scheme)
		},
	}, nil
}
