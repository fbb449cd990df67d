package main

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// reconciledLine is what every contestant prints: see bench/reconcile/lines.py.
type reconciledLine struct {
	N         int     `json:"n"`
	Wall      float64 `json:"wall_s"`
	CPU       float64 `json:"cpu_s"`
	PerObject float64 `json:"us_cpu_per_object"`
	RSS       float64 `json:"rss_mb"`
	Version   string  `json:"version"`
}

const workedOn = "trimtab.dev/worked-on"

// reconciler reads each ConfigMap and, with a value, writes that into its annotation until it sees it there.
type reconciler struct {
	client   client.Client
	value    string
	wanted   int64
	settled  sync.Map
	number   atomic.Int64
	finished chan struct{}
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var settings corev1.ConfigMap
	if err := r.client.Get(ctx, request.NamespacedName, &settings); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.value != "" && settings.Annotations[workedOn] != r.value {
		before := settings.DeepCopy()
		if settings.Annotations == nil {
			settings.Annotations = map[string]string{}
		}
		settings.Annotations[workedOn] = r.value
		return ctrl.Result{}, r.client.Patch(ctx, &settings, client.MergeFrom(before))
	}
	if _, before := r.settled.LoadOrStore(request.Name, true); !before && r.number.Add(1) == r.wanted {
		close(r.finished)
	}
	return ctrl.Result{}, nil
}

// runReconcile runs a manager with one controller until each object is as it should be; its flags are those of
// `python -m bench reconcile --json`.
func runReconcile(ctx context.Context, arguments []string) error {
	var mode, kubeconfig, namespace, value string
	var objects, workers int
	flags := flag.NewFlagSet("reconcile", flag.ExitOnError)
	flags.StringVar(&mode, "mode", "", "noop or patch")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "path of a kubeconfig")
	flags.StringVar(&namespace, "namespace", "", "where the ConfigMaps are")
	flags.IntVar(&objects, "objects", 0, "how many there are")
	flags.IntVar(&workers, "workers", 16, "reconciles at a time")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if mode == "patch" {
		value = fmt.Sprint(time.Now().UnixNano()) // no earlier run wrote that
	}
	config, err := loadConfig(kubeconfig)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logr.Discard())
	cpu, start := cpuSeconds(), time.Now()

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"}, // counted, and not served
	})
	if err != nil {
		return err
	}
	r := &reconciler{client: manager.GetClient(), value: value, wanted: int64(objects), finished: make(chan struct{})}
	err = ctrl.NewControllerManagedBy(manager).
		For(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case err := <-ended:
		return fmt.Errorf("the manager ended: %w", err)
	case <-r.finished:
	}
	spent := cpuSeconds() - cpu
	say(reconciledLine{
		N:         objects,
		Wall:      time.Since(start).Seconds(),
		CPU:       spent,
		PerObject: spent / float64(objects) * 1e6,
		RSS:       float64(peakMemory()) / 1e6,
		Version:   "controller-runtime " + version("sigs.k8s.io/controller-runtime"),
	})
	return nil
}
