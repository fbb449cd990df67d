// Command peer takes part in the bench with client-go and controller-runtime: `peer informer …`, `peer queue …` and
// `peer reconcile …` in the contests of these names, `peer …` in the client's.
//
// In the client's it does one scenario and prints what that cost as one line of JSON. Set-up is not measured: the client
// is made and has spoken to the server once before the meter starts.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// job is what the harness asks for; its flags are those of `python -m bench worker`.
type job struct {
	scenario   string
	mode       string
	kubeconfig string
	namespace  string
	count      int
	inFlight   int
	objects    int
	page       int64
}

// others are the contests that are not the client's.
var others = map[string]func(context.Context, []string) error{
	"informer":  runInformer,
	"queue":     runQueue,
	"reconcile": runReconcile,
}

func main() {
	if len(os.Args) > 1 && others[os.Args[1]] != nil {
		if err := others[os.Args[1]](context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintf(os.Stderr, "peer: %s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		return
	}
	var j job
	flag.StringVar(&j.scenario, "scenario", "", "patch, get or list")
	flag.StringVar(&j.mode, "mode", "", "protobuf, json or dynamic")
	flag.StringVar(&j.kubeconfig, "kubeconfig", "", "path of a kubeconfig")
	flag.StringVar(&j.namespace, "namespace", "", "where the population lives")
	flag.IntVar(&j.count, "count", 0, "requests to make, or objects that a list must give")
	flag.IntVar(&j.inFlight, "in-flight", 16, "requests at a time")
	flag.IntVar(&j.objects, "objects", 100, "ConfigMaps that the requests go round")
	flag.Int64Var(&j.page, "page", 0, "objects in a page of a list; 0 lists all at once")
	flag.Parse()

	cost, err := run(context.Background(), j)
	if err != nil {
		fmt.Fprintf(os.Stderr, "peer: %s (%s): %v\n", j.scenario, j.mode, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(cost); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, j job) (cost, error) {
	config, err := loadConfig(j.kubeconfig)
	if err != nil {
		return cost{}, err
	}
	api, err := newClient(config, j.mode)
	if err != nil {
		return cost{}, err
	}
	if err := api.get(ctx, j.namespace, objectName(0)); err != nil {
		return cost{}, fmt.Errorf("first request: %w", err)
	}
	return measure(j, func() error {
		switch j.scenario {
		case "patch":
			return inFlight(j, func(i int) error {
				return api.patch(ctx, j.namespace, objectName(i%j.objects), mergePatch(i))
			})
		case "get":
			return inFlight(j, func(i int) error { return api.get(ctx, j.namespace, objectName(i%j.objects)) })
		case "list":
			listed, err := list(ctx, api, j)
			if err == nil && listed != j.count {
				err = fmt.Errorf("%d objects listed, %d expected", listed, j.count)
			}
			return err
		}
		return fmt.Errorf("no such scenario")
	})
}

func loadConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit of the client's own
	config.UserAgent = "bench"
	return config, nil
}

// list reads every Pod of the namespace and keeps it, as a cache would.
func list(ctx context.Context, api requester, j job) (int, error) {
	var pages []runtime.Object
	listed, options := 0, metav1.ListOptions{Limit: j.page}
	for {
		page, length, next, err := api.list(ctx, j.namespace, options)
		if err != nil {
			return 0, err
		}
		pages = append(pages, page)
		listed += length
		if next == "" {
			kept = pages
			return listed, nil
		}
		options.Continue = next
	}
}

// kept holds what was listed until the process ends, so that no list is garbage before it is measured.
var kept []runtime.Object

func version(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return "unknown"
}
