package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	apis "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
)

var gadgets = schema.GroupVersion{Group: "gadgets.capstan.dev", Version: "v1"}

// Gadget is the kind that the provider exports.
type Gadget struct {
	v1.TypeMeta   `json:",inline"`
	v1.ObjectMeta `json:"metadata,omitempty"`
	Spec          GadgetSpec   `json:"spec"`
	Status        GadgetStatus `json:"status,omitempty"`
}

type GadgetSpec struct {
	Colour string `json:"colour,omitempty"`
}

type GadgetStatus struct {
	Colour string `json:"colour,omitempty"`
	// Note says whether the controller may write a note.
	Note string `json:"note,omitempty"`
}

type GadgetList struct {
	v1.TypeMeta `json:",inline"`
	v1.ListMeta `json:"metadata,omitempty"`
	Items       []Gadget `json:"items"`
}

func (g *Gadget) DeepCopyObject() runtime.Object {
	copied := *g
	g.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

func (l *GadgetList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = make([]Gadget, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Gadget)
	}
	return &copied
}

func addGadgets(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(gadgets, &Gadget{}, &GadgetList{})
	v1.AddToGroupVersion(scheme, gadgets)
}

const exportName = "gadgets"

var claimed = apisv1alpha2.GroupResource{Resource: "configmaps"}

func offer() []client.Object {
	model := apis.APIResourceSchema{ObjectMeta: v1.ObjectMeta{Name: "v1.gadgets." + gadgets.Group}}
	model.Spec.Group = gadgets.Group
	model.Spec.Names = apiextensions.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"}
	model.Spec.Scope = apiextensions.NamespaceScoped
	model.Spec.Versions = []apis.APIResourceVersion{{
		Name: gadgets.Version, Served: true, Storage: true,
		Subresources: apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
		Schema: runtime.RawExtension{Raw: []byte(`{"type":"object","properties":{
			"spec":{"type":"object","properties":{"colour":{"type":"string"}}},
			"status":{"type":"object","properties":{"colour":{"type":"string"},"note":{"type":"string"}}}}}`)},
	}}
	export := apisv1alpha2.APIExport{ObjectMeta: v1.ObjectMeta{Name: exportName}}
	export.Spec.Resources = []apisv1alpha2.ResourceSchema{{
		Name: "gadgets", Group: gadgets.Group, Schema: model.Name,
		Storage: apisv1alpha2.ResourceSchemaStorage{CRD: &apisv1alpha2.ResourceSchemaStorageCRD{}},
	}}
	for _, resource := range []apisv1alpha2.GroupResource{claimed, {Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}} {
		export.Spec.PermissionClaims = append(export.Spec.PermissionClaims, apisv1alpha2.PermissionClaim{GroupResource: resource, Verbs: []string{"*"}})
	}
	return []client.Object{&model, &export}
}

// binding binds the export, accepting events and, depending on the state, the claimed ConfigMaps.
func binding(of place, state apisv1alpha2.AcceptablePermissionClaimState) *apisv1alpha2.APIBinding {
	bound := &apisv1alpha2.APIBinding{ObjectMeta: v1.ObjectMeta{Name: exportName}}
	bound.Spec.Reference.Export = &apisv1alpha2.ExportBindingReference{Path: of.path, Name: exportName}
	for _, resource := range []apisv1alpha2.GroupResource{claimed, {Resource: "events"}, {Group: "events.k8s.io", Resource: "events"}} {
		claim := apisv1alpha2.AcceptablePermissionClaim{State: apisv1alpha2.ClaimAccepted}
		claim.GroupResource, claim.Verbs, claim.Selector.MatchAll = resource, []string{"*"}, true
		if resource == claimed {
			claim.State = state
		}
		bound.Spec.PermissionClaims = append(bound.Spec.PermissionClaims, claim)
	}
	return bound
}
