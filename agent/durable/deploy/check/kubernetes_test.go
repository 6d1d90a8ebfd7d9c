package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kedacore/keda/v2/version"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	internalapps "k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	internalbatch "k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	internalcore "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	internalpolicy "k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

var _ = version.Version // KEDA's module is read, see keda

// manifests are what kubectl apply -k would send, each as YAML.
func manifests(t *testing.T) (all []string) {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// check is what the API server does with an object that is created: no field that it
// does not know, defaults, and its validation.
func check(text string) (runtime.Object, error) {
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	object, kind, err := codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(object)
	group := kind.GroupVersion()
	group.Version = runtime.APIVersionInternal
	internal, err := legacyscheme.Scheme.ConvertToVersion(object, group)
	if err != nil {
		return nil, err
	}
	var faults field.ErrorList
	pods := corevalidation.PodValidationOptions{}
	switch o := internal.(type) {
	case *internalapps.Deployment:
		faults = appsvalidation.ValidateDeployment(o, pods)
	case *internalbatch.Job:
		// The server makes the selector, from the id that it gives.
		o.UID = "id"
		made := map[string]string{"batch.kubernetes.io/controller-uid": "id", "controller-uid": "id", "batch.kubernetes.io/job-name": o.Name, "job-name": o.Name}
		o.Spec.Selector = &meta.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": "id"}}
		maps.Copy(o.Spec.Template.Labels, made)
		faults = batchvalidation.ValidateJobCreate(o, batchvalidation.JobValidationOptions{PodValidationOptions: pods, RequirePrefixedLabels: true})
	case *internalpolicy.PodDisruptionBudget:
		faults = policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *internalcore.PersistentVolumeClaim:
		faults = corevalidation.ValidatePersistentVolumeClaim(o, corevalidation.PersistentVolumeClaimSpecValidationOptions{})
	case *internalcore.ConfigMap:
		faults = corevalidation.ValidateConfigMap(o)
	default:
		return nil, fmt.Errorf("the test does not know how to validate a %s", kind)
	}
	return object, faults.ToAggregate()
}

// keda is a file of KEDA's module.
func keda(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// scaler checks a ScaledObject as the API server does with KEDA's definition, and the
// parameters of its triggers as KEDA does.
func scaler(t *testing.T, text string) error {
	t.Helper()
	var crd extensions.CustomResourceDefinition
	if err := yaml.Unmarshal(keda(t, "config/crd/bases/keda.sh_scaledobjects.yaml"), &crd); err != nil {
		t.Fatal(err)
	}
	var definition apiextensions.JSONSchemaProps
	if err := extensions.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &definition, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&definition)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&definition)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		return err
	}
	if err := validation.ValidateCustomResource(nil, object, validator).ToAggregate(); err != nil {
		return err
	}
	if unknown := pruning.PruneWithOptions(object, structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(unknown) > 0 {
		return fmt.Errorf("unknown: %v", unknown)
	}
	return triggers(t, text)
}

// triggers checks the parameters of the triggers against KEDA's list of them.
func triggers(t *testing.T, text string) error {
	t.Helper()
	var known struct {
		Scalers []struct {
			Type       string
			Parameters []struct {
				Name, Deprecated    string
				Optional            bool
				Default             any
				MetadataReadable    bool `json:"metadataVariableReadable"`
				EnvironmentReadable bool `json:"envVariableReadable"`
			}
		}
	}
	if err := json.Unmarshal(keda(t, "schema/generated/scalers-schema.json"), &known); err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec struct {
			Triggers []struct {
				Type     string
				Metadata map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		return err
	}
	for _, trigger := range object.Spec.Triggers {
		left := trigger.Metadata
		found := false
		for _, s := range known.Scalers {
			if s.Type != trigger.Type {
				continue
			}
			found = true
			for _, p := range s.Parameters {
				_, here := left[p.Name]
				_, there := left[p.Name+"FromEnv"]
				delete(left, p.Name)
				delete(left, p.Name+"FromEnv")
				switch {
				case here && !p.MetadataReadable, there && !p.EnvironmentReadable, (here || there) && p.Deprecated != "":
					return fmt.Errorf("%s: %s cannot be given like this. %s", trigger.Type, p.Name, p.Deprecated)
				case !here && !there && !p.Optional && p.Default == nil:
					return fmt.Errorf("%s: %s is missing", trigger.Type, p.Name)
				}
			}
		}
		if !found || len(left) > 0 {
			return fmt.Errorf("KEDA knows no trigger %q with %v", trigger.Type, left)
		}
	}
	return nil
}

func TestKubernetes(t *testing.T) {
	var kinds []string
	objects := map[string]runtime.Object{}
	var target, queue string
	for _, text := range manifests(t) {
		var head struct{ meta.TypeMeta }
		if err := yaml.Unmarshal([]byte(text), &head); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, head.Kind)
		if head.Kind == "ScaledObject" {
			if err := scaler(t, text); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			var o struct {
				Spec struct {
					ScaleTargetRef struct{ Name string }
					Triggers       []struct{ Metadata map[string]string }
				}
			}
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				t.Fatal(err)
			}
			target, queue = o.Spec.ScaleTargetRef.Name, o.Spec.Triggers[0].Metadata["taskQueueFromEnv"]
			continue
		}
		o, err := check(text)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		objects[head.Kind] = o
	}
	slices.Sort(kinds)
	if got := strings.Join(kinds, " "); got != "ConfigMap Deployment Job PersistentVolumeClaim PodDisruptionBudget ScaledObject" {
		t.Fatalf("there are %s", got)
	}
	workers := objects["Deployment"].(*apps.Deployment)
	budget := objects["PodDisruptionBudget"].(*policy.PodDisruptionBudget)
	selector, err := meta.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil || !selector.Matches(labels.Set(workers.Spec.Template.Labels)) {
		t.Errorf("the budget %v is not that of the workers %v: %v", budget.Spec.Selector, workers.Spec.Template.Labels, err)
	}
	if target != workers.Name {
		t.Errorf("what is scaled is %q, and not %q", target, workers.Name)
	}
	pod := workers.Spec.Template.Spec
	c := pod.Containers[0]
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Error("a worker lacks a probe or resources")
	}
	if s := c.SecurityContext; s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !*pod.SecurityContext.RunAsNonRoot {
		t.Error("a worker may do more than it needs")
	}
	settings := objects["ConfigMap"].(*core.ConfigMap)
	if c.EnvFrom[0].ConfigMapRef.Name != settings.Name || c.EnvFrom[1].SecretRef == nil {
		t.Errorf("a worker gets its settings from %v, and not from %s and a secret", c.EnvFrom, settings.Name)
	}
	for _, of := range []struct{ prefix, tenant, queue string }{ // KEDA makes the variables of the container as Kubernetes does
		{"", "default", "mylm/default"},
		{"", "team-a", "mylm/team-a"},
		{"tools:", "default", "tools:mylm/default"}, // with MYLM_TAKES=tools
	} {
		variables := maps.Clone(settings.Data)
		variables["MYLM_TENANT"] = of.tenant
		variables["QUEUE_PREFIX"] += of.prefix
		for _, v := range c.Env {
			variables[v.Name] = expansion.Expand(v.Value, expansion.MappingFuncFor(variables))
		}
		if got := variables[queue]; got != of.queue {
			t.Errorf("KEDA looks at the queue %q, and not at %q", got, of.queue)
		}
	}
	for name := range settings.Data {
		if strings.Contains(name, "PASSWORD") {
			t.Errorf("%s is a setting, and not a secret", name)
		}
	}
}

// The check itself finds what is wrong.
func TestKubernetesFaults(t *testing.T) {
	all := strings.Join(manifests(t), "---\n")
	for _, change := range [][2]string{
		{"livenessProbe:", "livelinessProbe:"},
		{"restartPolicy: OnFailure", "restartPolicy: Always"},
		{"runAsUser: 65534", "runAsUser: nobody"},
		{"memory: 512Mi", "memory: 512 MB"},
		{"maxUnavailable: 1\n", "maxUnavailable: 1\n  minAvailable: 1\n"},
		{"claimName: mylm-work", "claim: mylm-work"},
		{"- ReadWriteMany", "- ReadWriteSome"},
		{"port: health", "port: Health Check"},
		{"pollingInterval: 15", "pollingInterval: often"},
		{"pollingInterval: 15", "pollInterval: 15"},
		{"targetQueueSize:", "targetQueueLength:"},
		{"endpointFromEnv: MYLM_TEMPORAL", "buildId: \"1\""},
		{"type: temporal", "type: temporals"},
	} {
		if !strings.Contains(all, change[0]) {
			t.Errorf("there is no %q", change[0])
			continue
		}
		found := false
		for _, text := range strings.Split(strings.ReplaceAll(all, change[0], change[1]), "---\n") {
			var err error
			if strings.Contains(text, "kind: ScaledObject") {
				err = scaler(t, text)
			} else {
				_, err = check(text)
			}
			found = found || err != nil
		}
		if !found {
			t.Errorf("%q passes", change[1])
		}
	}
}
