package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// informerJob is what the harness asks of an informer; its flags are those of `python -m bench informer --json`.
type informerJob struct {
	mode       string
	kubeconfig string
	namespace  string
	resource   string
	events     int
	reads      int
	label      string
	owner      string
}

func runInformer(ctx context.Context, arguments []string) error {
	var j informerJob
	flags := flag.NewFlagSet("informer", flag.ExitOnError)
	flags.StringVar(&j.mode, "mode", "", "protobuf, json or dynamic; copying, sharing or lister to read from")
	flags.StringVar(&j.kubeconfig, "kubeconfig", "", "path of a kubeconfig")
	flags.StringVar(&j.namespace, "namespace", "", "where to look; everywhere if empty")
	flags.StringVar(&j.resource, "resource", "", "pods, configmaps or GROUP/VERSION/PLURAL")
	flags.Int("objects", 0, "how many there are; an informer of client-go can tell")
	flags.IntVar(&j.events, "events", 0, "updates to wait for")
	flags.IntVar(&j.reads, "reads", 0, "lists of the large ReplicaSet's Pods, by label and by owner; and gets, a hundred times as many")
	flags.StringVar(&j.label, "label", "", "the selector that finds them")
	flags.StringVar(&j.owner, "owner", "", "the uid that finds them")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	config, err := loadConfig(j.kubeconfig)
	if err != nil {
		return err
	}
	if j.mode == "copying" || j.mode == "sharing" {
		return readCached(ctx, config, j)
	}
	return watchInformer(ctx, config, j)
}

// watchInformer syncs an informer of client-go, follows it, and reads from its lister, as far as that is asked for.
func watchInformer(ctx context.Context, config *rest.Config, j informerJob) error {
	make, err := informerMaker(config, j)
	if err != nil {
		return err
	}
	s := begin("client-go "+version("k8s.io/client-go")+", "+runtime.Version(), j.events)
	informer, start, err := make()
	if err != nil {
		return err
	}
	added := 0
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added++ },
		UpdateFunc: func(_, now any) {
			if object, err := meta.Accessor(now); err == nil {
				s.updated(object.GetAnnotations())
			}
		},
	})
	if err != nil {
		return err
	}
	if j.reads > 0 {
		if err := informer.AddIndexers(cache.Indexers{byOwner: ownerOf}); err != nil {
			return err
		}
	}
	start(ctx.Done())
	if !cache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
		return fmt.Errorf("no sync")
	}
	s.synced(added)
	if j.events > 0 {
		s.follow()
	}
	if j.reads > 0 {
		return measureReads(j, listerReads(informer.GetIndexer(), j))
	}
	runtime.KeepAlive(informer)
	return nil
}

type maker func() (informer cache.SharedIndexInformer, start func(<-chan struct{}), err error)

// informerMaker makes the client, and what makes the informer once the meter runs.
func informerMaker(config *rest.Config, j informerJob) (maker, error) {
	resource, err := parseResource(j.resource)
	if err != nil {
		return nil, err
	}
	if j.mode == "dynamic" {
		api, err := dynamic.NewForConfig(config)
		return func() (cache.SharedIndexInformer, func(<-chan struct{}), error) {
			factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(api, 0, j.namespace, nil)
			return factory.ForResource(resource).Informer(), factory.Start, nil
		}, err
	}
	mode := j.mode
	if mode == "lister" {
		mode = "protobuf"
	}
	api, err := newTyped(config, mode)
	return func() (cache.SharedIndexInformer, func(<-chan struct{}), error) {
		factory := informers.NewSharedInformerFactoryWithOptions(api, 0, informers.WithNamespace(j.namespace))
		generic, err := factory.ForResource(resource)
		if err != nil {
			return nil, nil, err
		}
		return generic.Informer(), factory.Start, nil
	}, err
}

func parseResource(text string) (schema.GroupVersionResource, error) {
	switch parts := strings.Split(text, "/"); {
	case text == "pods":
		return pods, nil
	case text == "configmaps":
		return configMaps, nil
	case len(parts) == 3:
		return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("resource %q is not pods, configmaps or GROUP/VERSION/PLURAL", text)
}

const byOwner = "owner"

// ownerOf is an index function: the uid of the controller, as controllers index what they own.
func ownerOf(object any) ([]string, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	if owner := metav1.GetControllerOf(accessor); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}
