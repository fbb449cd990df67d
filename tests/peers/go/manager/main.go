// A manager of controller-runtime with one controller, as kubebuilder's users write them: leader election, a kind of
// its own, an object that it owns, one that it applies, a finalizer, status with conditions, events.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "peers.trimtab.dev/ledger"

// reconciler keeps, for each Widget, a ConfigMap that it owns and a key in a ledger that outlives it.
type reconciler struct {
	client.Client
	events events.EventRecorder
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !widget.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.close(ctx, &widget)
	}
	if controllerutil.AddFinalizer(&widget, finalizer) {
		if err := r.Update(ctx, &widget); err != nil {
			return ctrl.Result{}, err
		}
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: widget.Name, Namespace: widget.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, owned, func() error {
		owned.Data = map[string]string{"text": widget.Spec.Text}
		return controllerutil.SetControllerReference(&widget, owned, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.enter(ctx, &widget, "open"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, &widget)
}

func (r *reconciler) report(ctx context.Context, widget *Widget) error {
	before := widget.DeepCopy()
	widget.Status.Size = widget.Spec.Size
	changed := meta.SetStatusCondition(&widget.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Made", ObservedGeneration: widget.Generation,
	})
	if !changed && before.Status.Size == widget.Status.Size {
		return nil
	}
	r.events.Eventf(widget, nil, corev1.EventTypeNormal, "Made", "Make", "made it of size %d", widget.Spec.Size)
	return r.Status().Patch(ctx, widget, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func (r *reconciler) close(ctx context.Context, widget *Widget) error {
	if !controllerutil.ContainsFinalizer(widget, finalizer) {
		return nil
	}
	if err := r.enter(ctx, widget, "closed"); err != nil {
		return err
	}
	before := widget.DeepCopy()
	controllerutil.RemoveFinalizer(widget, finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, widget, client.MergeFrom(before)))
}

// enter writes one key of the ledger by server-side apply: each Widget is a manager of its own key.
func (r *reconciler) enter(ctx context.Context, widget *Widget, state string) error {
	ledger := applycorev1.ConfigMap("ledger", widget.Namespace).WithData(map[string]string{widget.Name: state})
	return r.Apply(ctx, ledger, client.FieldOwner("widget-"+widget.Name), client.ForceOwnership)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kubeconfig := os.Getenv("KUBECONFIG")
	namespace := flag.String("namespace", "", "where to work")
	identity := flag.String("identity", "", "what is said when it leads")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	scheme.AddKnownTypes(groupVersion, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{*namespace: {}}},
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "widgets",
		LeaderElectionNamespace:       *namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: manager.GetClient(), events: manager.GetEventRecorder("widgets")}
	if err := ctrl.NewControllerManagedBy(manager).For(&Widget{}).Owns(&corev1.ConfigMap{}).Complete(r); err != nil {
		return err
	}
	go func() {
		<-manager.Elected()
		fmt.Println(*identity, "leads")
	}()
	return manager.Start(ctrl.SetupSignalHandler())
}
