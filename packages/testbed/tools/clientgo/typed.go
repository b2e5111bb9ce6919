package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// lifecycle uses every verb on one object.
func (p *probe) lifecycle(ctx context.Context, client kubernetes.Interface, suffix string) error {
	secrets := client.CoreV1().Secrets(p.namespace)
	name := "probe-" + suffix
	made, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"probe": suffix}},
		StringData: map[string]string{"a": "one"},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if made.UID == "" || made.ResourceVersion == "" || made.CreationTimestamp.IsZero() || made.Type != corev1.SecretTypeOpaque || string(made.Data["a"]) != "one" {
		return fmt.Errorf("create: the response is incomplete: %+v", made)
	}
	if _, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("second create: want AlreadyExists, got %v", err)
	}
	stale := made.DeepCopy()
	made.Data["b"] = []byte("two")
	updated, err := secrets.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if updated.ResourceVersion == made.ResourceVersion || updated.UID != made.UID {
		return errors.New("update: want a new resource version and the same uid")
	}
	stale.Data["b"] = []byte("three")
	if _, err = secrets.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("stale update: want Conflict, got %v", err)
	}
	patches := map[types.PatchType]string{
		types.JSONPatchType:           `[{"op":"add","path":"/metadata/labels/json","value":"y"}]`,
		types.MergePatchType:          `{"metadata":{"labels":{"merge":"y"}}}`,
		types.StrategicMergePatchType: `{"metadata":{"labels":{"strategic":"y"}}}`,
	}
	for kind, patch := range patches {
		if _, err = secrets.Patch(ctx, name, kind, []byte(patch), metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patch %s: %w", kind, err)
		}
	}
	got, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	if len(got.Labels) != 4 || string(got.Data["b"]) != "two" {
		return fmt.Errorf("get: want 4 labels and b=two, got %v %q", got.Labels, got.Data["b"])
	}
	if err = secrets.Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("wrong")}); !apierrors.IsConflict(err) {
		return fmt.Errorf("delete of another uid: want Conflict, got %v", err)
	}
	if err = secrets.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "probe=" + suffix}); err != nil {
		return fmt.Errorf("delete collection: %w", err)
	}
	if _, err = secrets.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("get after delete: want NotFound, got %v", err)
	}
	return nil
}

func (p *probe) apply(ctx context.Context) error {
	configMaps := p.typed.CoreV1().ConfigMaps(p.namespace)
	first := applycorev1.ConfigMap("probe-apply", p.namespace).WithData(map[string]string{"a": "1", "b": "1"})
	if _, err := configMaps.Apply(ctx, first, metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return fmt.Errorf("first apply: %w", err)
	}
	second := applycorev1.ConfigMap("probe-apply", p.namespace).WithData(map[string]string{"a": "2"})
	if _, err := configMaps.Apply(ctx, second, metav1.ApplyOptions{FieldManager: "two"}); !apierrors.IsConflict(err) {
		return fmt.Errorf("apply of another's field: want Conflict, got %v", err)
	}
	if _, err := configMaps.Apply(ctx, second, metav1.ApplyOptions{FieldManager: "two", Force: true}); err != nil {
		return fmt.Errorf("forced apply: %w", err)
	}
	got, err := configMaps.Apply(ctx, applycorev1.ConfigMap("probe-apply", p.namespace), metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return fmt.Errorf("apply of nothing: %w", err)
	}
	if len(got.Data) != 1 || got.Data["a"] != "2" {
		return fmt.Errorf("want only a=2 to be left, got %v", got.Data)
	}
	extracted, err := applycorev1.ExtractConfigMap(got, "two")
	if err != nil || extracted.Data["a"] != "2" {
		return fmt.Errorf("extract: want a=2 owned by two, got %v, %v", extracted, err)
	}
	return configMaps.Delete(ctx, "probe-apply", metav1.DeleteOptions{})
}

func (p *probe) pagedList(ctx context.Context) error {
	configMaps := p.typed.CoreV1().ConfigMaps(p.namespace)
	const count = 25
	for i := range count {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("page-%02d", i), Labels: map[string]string{"paged": "yes"}}}
		if _, err := configMaps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	options := metav1.ListOptions{LabelSelector: "paged=yes", Limit: 10}
	var version string
	for {
		page, err := configMaps.List(ctx, options)
		if err != nil {
			return err
		}
		if version != "" && page.ResourceVersion != version {
			return fmt.Errorf("pages of one list show different versions: %s, %s", version, page.ResourceVersion)
		}
		version = page.ResourceVersion
		for _, item := range page.Items {
			if seen[item.Name] {
				return fmt.Errorf("%s is on two pages", item.Name)
			}
			seen[item.Name] = true
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
		// A write between two pages must not be visible.
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "page-new-", Labels: map[string]string{"paged": "yes"}}}
		if _, err := configMaps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if len(seen) != count {
		return fmt.Errorf("want %d objects over all pages, got %d", count, len(seen))
	}
	return configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "paged=yes"})
}
