package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	_ "sigs.k8s.io/controller-runtime/pkg/metrics" // without it a queue that has a name measures nothing
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// runQueue puts keys into a queue, takes each and says that it is done, as one worker of a controller does.
func runQueue(_ context.Context, arguments []string) error {
	var mode string
	var count, waiting int
	flags := flag.NewFlagSet("queue", flag.ExitOnError)
	flags.StringVar(&mode, "mode", "", "ratelimiting, measured or priority")
	flags.IntVar(&count, "count", 0, "keys to add, in all")
	flags.IntVar(&waiting, "waiting", 1, "keys to add before they are taken")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	queue, err := newQueue(mode)
	if err != nil {
		return err
	}
	keys := make([]reconcile.Request, waiting)
	for i := range keys {
		keys[i] = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "bench", Name: "object-" + strconv.Itoa(i)}}
	}
	turns := func(number int) {
		for range number {
			for _, key := range keys {
				queue.Add(key)
			}
			for range keys {
				key, _ := queue.Get()
				queue.Done(key)
			}
		}
	}
	turns(max(1, count/waiting/10)) // warm
	cost, err := measure(job{count: count}, func() error { turns(count / waiting); return nil })
	if err != nil {
		return err
	}
	cost.Version = "client-go " + version("k8s.io/client-go") + ", " + runtime.Version()
	if mode == "priority" {
		cost.Version = "controller-runtime " + version("sigs.k8s.io/controller-runtime")
	}
	return json.NewEncoder(os.Stdout).Encode(cost)
}

func newQueue(mode string) (workqueue.TypedRateLimitingInterface[reconcile.Request], error) {
	limiter := workqueue.DefaultTypedItemBasedRateLimiter[reconcile.Request]()
	switch mode {
	case "ratelimiting":
		return workqueue.NewTypedRateLimitingQueue(limiter), nil
	case "measured":
		config := workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: "bench"}
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config), nil
	case "priority":
		return priorityqueue.New[reconcile.Request]("bench"), nil
	}
	return nil, fmt.Errorf("no queue %q", mode)
}
