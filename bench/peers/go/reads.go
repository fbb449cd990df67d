package main

import (
	"context"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reads is how a contestant reads from what it holds; a list says how many it gave.
type reads struct {
	names   func() ([]string, error)
	get     func(name string) error
	byLabel func() (int, error)
	byOwner func() (int, error)
}

type readLine struct {
	Listed  int     `json:"listed"`
	ByLabel float64 `json:"label_us"`
	ByOwner float64 `json:"owner_us"`
	Get     float64 `json:"get_us"`
}

func measureReads(j informerJob, r reads) error {
	names, err := r.names()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("nothing to read")
	}
	var line readLine
	listed := func(list func() (int, error), each *float64) error {
		return metered(j.reads, each, func(int) (err error) {
			line.Listed, err = list()
			return err
		})
	}
	if err := listed(r.byLabel, &line.ByLabel); err != nil {
		return err
	}
	found := line.Listed
	if err := listed(r.byOwner, &line.ByOwner); err != nil {
		return err
	}
	if found != line.Listed {
		return fmt.Errorf("%d found by label, %d by owner", found, line.Listed)
	}
	// A stride that has no divisor in common with round numbers: all objects in turn, neighbours far apart.
	if err := metered(j.reads*100, &line.Get, func(i int) error { return r.get(names[i*7919%len(names)]) }); err != nil {
		return err
	}
	say(line)
	return nil
}

func metered(count int, each *float64, do func(i int) error) error {
	runtime.GC() // what was read before is not this one's garbage
	cpu := cpuSeconds()
	for i := range count {
		if err := do(i); err != nil {
			return err
		}
	}
	*each = (cpuSeconds() - cpu) / float64(count) * 1e6
	return nil
}

// readCached reads through controller-runtime's client for a cache: with copies, as by default, or without.
func readCached(ctx context.Context, config *rest.Config, j informerJob) error {
	s := begin("controller-runtime "+version("sigs.k8s.io/controller-runtime"), 0)
	options := cache.Options{}
	if j.namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{j.namespace: {}}
	}
	kept, err := cache.New(config, options)
	if err != nil {
		return err
	}
	owner := func(pod client.Object) []string {
		uids, _ := ownerOf(pod)
		return uids
	}
	if err := kept.IndexField(ctx, &corev1.Pod{}, byOwner, owner); err != nil {
		return err
	}
	go func() { _ = kept.Start(ctx) }()
	if _, err := kept.GetInformer(ctx, &corev1.Pod{}); err != nil {
		return err
	}
	if !kept.WaitForCacheSync(ctx) {
		return fmt.Errorf("no sync")
	}
	var pods corev1.PodList
	shared := client.UnsafeDisableDeepCopy
	if err := kept.List(ctx, &pods, shared); err != nil {
		return err
	}
	s.synced(len(pods.Items))
	selector, err := labels.Parse(j.label)
	if err != nil {
		return err
	}
	reader, err := client.New(config, client.Options{Cache: &client.CacheOptions{Reader: kept}})
	if err != nil {
		return err
	}
	return measureReads(j, clientReads(ctx, reader, j, selector))
}

func clientReads(ctx context.Context, reader client.Reader, j informerJob, selector labels.Selector) reads {
	list := func(given ...client.ListOption) (int, error) {
		if j.mode == "sharing" {
			given = append(given, client.UnsafeDisableDeepCopy)
		}
		var pods corev1.PodList
		err := reader.List(ctx, &pods, append(given, client.InNamespace(j.namespace))...)
		return len(pods.Items), err
	}
	var options []client.GetOption
	if j.mode == "sharing" {
		options = append(options, &client.GetOptions{UnsafeDisableDeepCopy: new(true)})
	}
	return reads{
		names: func() ([]string, error) {
			var pods corev1.PodList
			err := reader.List(ctx, &pods, client.InNamespace(j.namespace), client.UnsafeDisableDeepCopy)
			names := make([]string, len(pods.Items))
			for i := range pods.Items {
				names[i] = pods.Items[i].Name
			}
			return names, err
		},
		get: func(name string) error {
			var pod corev1.Pod
			return reader.Get(ctx, client.ObjectKey{Namespace: j.namespace, Name: name}, &pod, options...)
		},
		byLabel: func() (int, error) { return list(client.MatchingLabelsSelector{Selector: selector}) },
		byOwner: func() (int, error) { return list(client.MatchingFields{byOwner: j.owner}) },
	}
}

// listerReads reads as client-go's listers do: pointers into the cache, which nobody may write to.
func listerReads(indexer toolscache.Indexer, j informerJob) reads {
	lister := corelisters.NewPodLister(indexer).Pods(j.namespace)
	selector, _ := labels.Parse(j.label)
	return reads{
		names: func() ([]string, error) {
			pods, err := lister.List(labels.Everything())
			names := make([]string, len(pods))
			for i, pod := range pods {
				names[i] = pod.Name
			}
			return names, err
		},
		get: func(name string) error {
			_, err := lister.Get(name)
			return err
		},
		byLabel: func() (int, error) {
			pods, err := lister.List(selector)
			return len(pods), err
		},
		byOwner: func() (int, error) {
			pods, err := indexer.ByIndex(byOwner, j.owner)
			return len(pods), err
		},
	}
}
