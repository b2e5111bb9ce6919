package main

import (
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "testbed.capstan.dev", Version: "v1"}

// Greeter asks for a greeting, which its operator keeps in a ConfigMap of the same name.
type Greeter struct {
	v1.TypeMeta   `json:",inline"`
	v1.ObjectMeta `json:"metadata,omitempty"`
	Spec          GreeterSpec   `json:"spec"`
	Status        GreeterStatus `json:"status,omitempty"`
}

type GreeterSpec struct {
	Name  string `json:"name"`
	Times int32  `json:"times,omitempty"`
}

type GreeterStatus struct {
	ObservedGeneration int64          `json:"observedGeneration,omitempty"`
	Greeting           string         `json:"greeting,omitempty"`
	Conditions         []v1.Condition `json:"conditions,omitempty"`
}

type GreeterList struct {
	v1.TypeMeta `json:",inline"`
	v1.ListMeta `json:"metadata,omitempty"`
	Items       []Greeter `json:"items"`
}

func (g *Greeter) DeepCopyObject() runtime.Object {
	copied := *g
	g.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Status.Conditions = append([]v1.Condition(nil), g.Status.Conditions...)
	return &copied
}

func (l *GreeterList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = make([]Greeter, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Greeter)
	}
	return &copied
}

func addGreeters(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Greeter{}, &GreeterList{})
	v1.AddToGroupVersion(scheme, groupVersion)
}

func greeterDefinition() *apiextensions.CustomResourceDefinition {
	text := apiextensions.JSONSchemaProps{Type: "string"}
	one := apiextensions.JSON{Raw: []byte("1")}
	lowest, highest, shortest := 1.0, 10.0, int64(1)
	preserve := true
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: v1.ObjectMeta{Name: "greeters." + groupVersion.Group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: groupVersion.Group,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "greeters", Singular: "greeter", Kind: "Greeter", ListKind: "GreeterList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name:         groupVersion.Version,
				Served:       true,
				Storage:      true,
				Subresources: &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
					Type:     "object",
					Required: []string{"spec"},
					Properties: map[string]apiextensions.JSONSchemaProps{
						"spec": {
							Type:     "object",
							Required: []string{"name"},
							Properties: map[string]apiextensions.JSONSchemaProps{
								"name":  {Type: "string", MinLength: &shortest},
								"times": {Type: "integer", Format: "int32", Minimum: &lowest, Maximum: &highest, Default: &one},
							},
							XValidations: apiextensions.ValidationRules{{Rule: "self.name != 'nobody'", Message: "nobody cannot be greeted"}},
						},
						"status": {
							Type: "object",
							Properties: map[string]apiextensions.JSONSchemaProps{
								"observedGeneration": {Type: "integer", Format: "int64"},
								"greeting":           text,
								"conditions": {
									Type: "array",
									Items: &apiextensions.JSONSchemaPropsOrArray{
										Schema: &apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve},
									},
								},
							},
						},
					},
				}},
			}},
		},
	}
}
