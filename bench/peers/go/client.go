package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// requester is what the scenarios need of client-go, whichever of its clients answers.
type requester interface {
	get(ctx context.Context, namespace, name string) error
	patch(ctx context.Context, namespace, name string, patch []byte) error
	list(ctx context.Context, namespace string, options metav1.ListOptions) (page runtime.Object, length int, next string, err error)
}

func newClient(config *rest.Config, mode string) (requester, error) {
	if mode == "dynamic" {
		api, err := dynamic.NewForConfig(config)
		return dynamicClient{api}, err
	}
	api, err := newTyped(config, mode)
	return typedClient{api}, err
}

func newTyped(config *rest.Config, mode string) (kubernetes.Interface, error) {
	switch mode {
	case "protobuf":
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	case "json":
		config.ContentType = "application/json" // left empty, it is protobuf
		config.AcceptContentTypes = "application/json"
	default:
		return nil, fmt.Errorf("no such mode: %q", mode)
	}
	return kubernetes.NewForConfig(config)
}

type typedClient struct{ api kubernetes.Interface }

func (c typedClient) get(ctx context.Context, namespace, name string) error {
	_, err := c.api.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	return err
}

func (c typedClient) patch(ctx context.Context, namespace, name string, patch []byte) error {
	_, err := c.api.CoreV1().ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, patch, patchOptions)
	return err
}

func (c typedClient) list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, int, string, error) {
	pods, err := c.api.CoreV1().Pods(namespace).List(ctx, options)
	if err != nil {
		return nil, 0, "", err
	}
	return pods, len(pods.Items), pods.Continue, nil
}

type dynamicClient struct{ api dynamic.Interface }

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
)

func (c dynamicClient) get(ctx context.Context, namespace, name string) error {
	_, err := c.api.Resource(configMaps).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	return err
}

func (c dynamicClient) patch(ctx context.Context, namespace, name string, patch []byte) error {
	_, err := c.api.Resource(configMaps).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, patchOptions)
	return err
}

func (c dynamicClient) list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, int, string, error) {
	pods, err := c.api.Resource(pods).Namespace(namespace).List(ctx, options)
	if err != nil {
		return nil, 0, "", err
	}
	return pods, len(pods.Items), pods.GetContinue(), nil
}

// The manager is the same for all contestants, so that none of them leaves longer objects to the next.
var patchOptions = metav1.PatchOptions{FieldManager: "bench"}

func objectName(i int) string { return fmt.Sprintf("settings-%03d", i) }

// run tells this process's patches from those of another: a patch that changes nothing is not written.
var nonce = time.Now().UnixNano()

func mergePatch(i int) []byte {
	return fmt.Appendf(nil, `{"data":{"revision":"%d-%d"}}`, nonce, i)
}
