// Informers of client-go as its users have them: one of a built-in kind, one of any kind, one of metadata alone.
//
// Each line on stdout is a JSON object: a request as it is sent, an event as a handler gets it, or that an informer
// has synced. The program ends when its stdin does.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type line struct {
	Informer string `json:"informer,omitempty"`
	Event    string `json:"event,omitempty"`
	Name     string `json:"name,omitempty"`
	Value    string `json:"value,omitempty"`
	Initial  bool   `json:"initial,omitempty"`
	Path     string `json:"path,omitempty"`
	Query    string `json:"query,omitempty"`
	Accept   string `json:"accept,omitempty"`
}

var mutex sync.Mutex

func say(l line) {
	mutex.Lock()
	defer mutex.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(l); err != nil {
		os.Exit(1)
	}
}

// spy tells of each request and passes it on.
type spy struct{ next http.RoundTripper }

func (s spy) RoundTrip(request *http.Request) (*http.Response, error) {
	say(line{Path: request.URL.Path, Query: request.URL.RawQuery, Accept: request.Header.Get("Accept")})
	return s.next.RoundTrip(request)
}

// teller tells of each event; with what is stored beside the name, where the informer has it.
type teller struct{ informer string }

func (t teller) OnAdd(obj any, initial bool) { t.tell("add", obj, initial) }
func (t teller) OnUpdate(_, obj any)         { t.tell("update", obj, false) }
func (t teller) OnDelete(obj any)            { t.tell("delete", obj, false) }

func (t teller) tell(event string, obj any, initial bool) {
	if gone, is := obj.(cache.DeletedFinalStateUnknown); is {
		event, obj = "lost", gone.Obj
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	value := accessor.GetLabels()["value"]
	if settings, is := obj.(*corev1.ConfigMap); is {
		value = settings.Data["value"]
	}
	say(line{Informer: t.informer, Event: event, Name: accessor.GetName(), Value: value, Initial: initial})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig")
	namespace := flag.String("namespace", "", "where to look")
	custom := flag.String("custom", "", "resource.version.group for the informer of any kind")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return spy{next} })
	started, err := prepare(config, *namespace, *custom)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	for name, informer := range started {
		if _, err := informer.AddEventHandler(teller{name}); err != nil {
			return err
		}
		go informer.Run(stop)
		go func() {
			if cache.WaitForCacheSync(stop, informer.HasSynced) {
				say(line{Informer: name, Event: "synced"})
			}
		}()
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	close(stop)
	return err
}

func prepare(config *rest.Config, namespace, custom string) (map[string]cache.SharedIndexInformer, error) {
	protobuf := rest.CopyConfig(config)
	protobuf.ContentType = "application/vnd.kubernetes.protobuf"
	protobuf.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	typed, err := kubernetes.NewForConfig(protobuf)
	if err != nil {
		return nil, err
	}
	anyKind, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	partial, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	parsed, _ := schema.ParseResourceArg(custom)
	if parsed == nil {
		return nil, fmt.Errorf("-custom %q: write resource.version.group", custom)
	}
	labelled := func(options *metav1.ListOptions) { options.LabelSelector = "value" }
	settings := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithNamespace(namespace))
	things := dynamicinformer.NewFilteredDynamicSharedInformerFactory(anyKind, 0, namespace, nil)
	parts := metadatainformer.NewFilteredSharedInformerFactory(partial, 0, namespace, labelled)
	return map[string]cache.SharedIndexInformer{
		"typed":    settings.Core().V1().ConfigMaps().Informer(),
		"dynamic":  things.ForResource(*parsed).Informer(),
		"metadata": parts.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer(),
	}, nil
}
