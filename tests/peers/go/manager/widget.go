package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "peers.trimtab.dev", Version: "v1"}

// Widget is the kind of the controller; its definition is in tests/peers/widgets.yaml.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec   `json:"spec"`
	Status            WidgetStatus `json:"status,omitempty"`
}

// WidgetSpec is what is wanted.
type WidgetSpec struct {
	Size int    `json:"size"`
	Text string `json:"text,omitempty"`
}

// WidgetStatus is what is.
type WidgetStatus struct {
	Size       int                `json:"size,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WidgetList is what a list of them is.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

// DeepCopy copies it with all that it points to.
func (w *Widget) DeepCopy() *Widget {
	made := *w
	made.ObjectMeta = *w.ObjectMeta.DeepCopy()
	made.Status.Conditions = append([]metav1.Condition(nil), w.Status.Conditions...)
	return &made
}

// DeepCopyObject makes it a runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object { return w.DeepCopy() }

// DeepCopyObject makes it a runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	made := *l
	made.ListMeta = *l.ListMeta.DeepCopy()
	made.Items = make([]Widget, len(l.Items))
	for index := range l.Items {
		made.Items[index] = *l.Items[index].DeepCopy()
	}
	return &made
}
