// Golden prints what k8s.io/apimachinery makes of quantities, durations, times, selectors and percentages, as JSON
// lines for the tests of trimtab.kube: `go run . ..` in this folder writes them into the one above.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type row = []any

var random = rand.New(rand.NewPCG(1, 2))

func pick(choices ...string) string { return choices[random.IntN(len(choices))] }

func main() {
	for name, rows := range map[string][]row{
		"quantities":      quantities(),
		"quantity_pairs":  quantityPairs(),
		"durations":       durations(),
		"times":           times(),
		"label_selectors": labelSelectors(),
		"label_structs":   labelStructs(),
		"field_selectors": fieldSelectors(),
		"percentages":     percentages(),
	} {
		file, err := os.Create(filepath.Join(os.Args[1], name+".jsonl"))
		must(err)
		out := bufio.NewWriter(file)
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		for _, row := range rows {
			must(encoder.Encode(row))
		}
		must(out.Flush())
		must(file.Close())
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// distinct collects generated texts, in order, each once.
func distinct(count int, fixed []string, generate func() string) []string {
	seen, texts := map[string]bool{}, []string{}
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	for _, text := range fixed {
		add(text)
	}
	for len(texts) < count {
		add(generate())
	}
	return texts
}

func digits(most int) string {
	text := ""
	for range random.IntN(most + 1) {
		text += pick("0", "0", "1", "2", "4", "5", "8", "9")
	}
	return text
}

func quantityText() string {
	text := pick("", "", "", "", "-", "+") + digits(5)
	if random.IntN(12) == 0 {
		text += digits(16)
	}
	if random.IntN(2) == 0 {
		text += "." + digits(11)
	}
	switch random.IntN(12) {
	case 0:
		text += pick("e", "E") + pick("", "+", "-") + digits(2)
	case 1:
		text += pick("x", "kk", "ki", "mi", "K", "i", "e", "E+", "1Ki5", " ", ".1", "Eii", "Zi", "µ")
	default:
		text += pick("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
	}
	return text
}

var quantityTexts = []string{
	"0", "0.0", "-0", "00", "0Ki", "500m", "128Mi", "1.5Gi", "0.5", ".5", "5.", "5.Mi", "1024Ki", "1023", "1024", "0.1Ki", "1000", "1e3",
	"1E3", "1e-9", "1e-10", "0.1n", "1.1n", "-0.1n", "9223372036854775807", "9223372036854775808", "8Ei", "-8Ei", "7Ei", "9Ei", "10E", "999E", "1e20",
	"1Ei", "1025Ti", "0.5Ki", "0.5Mi", "1.23456789012Gi", "", " ", "1 ", " 1", "1_000", "1,5", "--1", "+-1", "1..2", "1.2.3", "0x10", "Inf", "NaN",
	"1e", "1e+", "1ee3", "1e3.5", "1e3m", "1mi", "1kI", "one", "٣", "1e19", "1.5e2", "1500e-3", "12e05", "-1.5Ki", "-1023Ki", "1\n",
	"0.9765625Ki", "-0.9765625Ki", "0.0001Ki", "-0.0001Ki", ".00000001Mi", "1e-99",
}

// canonical prints a quantity afresh: String alone repeats some texts as they were read.
func canonical(q resource.Quantity) string {
	q.Neg()
	q.Neg()
	return q.String()
}

// scaled is q in units of the scale, or null where Go's answer overflows or, as for some negative fractions, is off.
func scaled(q resource.Quantity, scale resource.Scale) any {
	limit := inf.NewDec(math.MaxInt64, inf.Scale(-scale))
	if copied := q.DeepCopy(); copied.Sign() < 0 || copied.AsDec().Cmp(limit) > 0 {
		return nil
	}
	return fmt.Sprint(q.ScaledValue(scale))
}

// quantities: [text], or [text, canonical, format, value, milli value].
func quantities() (rows []row) {
	for _, text := range distinct(1500, quantityTexts, quantityText) {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			rows = append(rows, row{text})
			continue
		}
		rows = append(rows, row{text, canonical(q), q.Format, scaled(q, 0), scaled(q, resource.Milli)})
	}
	return rows
}

// quantityPairs: [left, right, comparison, sum, difference, factor, product of left].
func quantityPairs() (rows []row) {
	for len(rows) < 600 {
		a, b := quantityText(), quantityText()
		left, err := resource.ParseQuantity(a)
		if err != nil {
			continue
		}
		right, err := resource.ParseQuantity(b)
		if err != nil {
			continue
		}
		sum, difference, product := left.DeepCopy(), left.DeepCopy(), left.DeepCopy()
		sum.Add(right)
		difference.Sub(right)
		factor := int64(random.IntN(40) - 10)
		product.Mul(factor)
		rows = append(rows, row{a, b, left.Cmp(right), sum.String(), difference.String(), factor, product.String()})
	}
	return rows
}

// durations: [text], or [text, nanoseconds, canonical].
func durations() (rows []row) {
	fixed := []string{
		"", "0", "+0", "-0", "-", "0s", "1h2m3s", "1.5h", "300ms", "-1m", "1h0m0s", "100us", "100µs", "100μs", "1.s", ".5s", ".s", "1", "1d",
		"1 s", "s", "1S", "9223372036854775807ns", "9223372036854775808ns", "-9223372036854775807ns", "2562047h", "2562048h", "0.3333333333333333333h",
		"1m1m", "1e3s", "--1s", "1h-1m", "0.000000001s", "0.0000000001s", "999ns", "999999ns", "59m60s", "٣s",
	}
	for _, text := range distinct(500, fixed, func() string {
		text := pick("", "", "", "-", "+")
		for range 1 + random.IntN(3) {
			text += digits(3)
			if random.IntN(3) == 0 {
				text += "." + digits(7)
			}
			text += pick("ns", "us", "µs", "ms", "ms", "s", "s", "m", "m", "h", "h", "", "x")
		}
		return text
	}) {
		if d, err := time.ParseDuration(text); err != nil {
			rows = append(rows, row{text})
		} else {
			rows = append(rows, row{text, int64(d), d.String()})
		}
	}
	return rows
}

// times: [text, as Time, as MicroTime], with null where it does not parse.
func times() (rows []row) {
	for _, text := range distinct(150, []string{
		"2026-07-01T12:00:00Z", "2026-07-01T12:00:00.000000Z", "2026-07-01T12:00:00.5Z", "2026-07-01T12:00:00.1234567Z", "2026-07-01", "",
		"2026-07-01T24:00:00Z", "2026-02-30T12:00:00Z", "2026-07-01T12:00:60Z", "2026-07-01T12:00:00", "2026-07-01 12:00:00Z", "2026-W27-3T12:00:00Z",
		"2026-07-01t12:00:00z", "20260701T120000Z", "2026-07-01T12:00Z", "2026-07-01T12:00:00.Z", "2024-02-29T23:59:59.999999+14:00",
	}, func() string {
		moment := time.Unix(random.Int64N(4e9), 0).UTC().Format("2006-01-02T15:04:05")
		return moment + pick("", ".5", ".000000", ".123456", ".1234567", ".") + pick("Z", "Z", "+00:00", "-07:30", "+02:00", "")
	}) {
		var seconds metav1.Time
		var micro metav1.MicroTime
		quoted, _ := json.Marshal(text)
		rows = append(rows, row{text, reread(quoted, &seconds), reread(quoted, &micro)})
	}
	return rows
}

func reread(text []byte, into json.Unmarshaler) any {
	if into.UnmarshalJSON(text) != nil {
		return nil
	}
	out, err := json.Marshal(into)
	must(err)
	return strings.Trim(string(out), `"`)
}

func someLabels() map[string]string {
	set := map[string]string{}
	for range random.IntN(5) {
		set[pick("a", "b", "c", "x/a", "in")] = pick("", "1", "2", "5", "-1", "1_0", "9223372036854775808", "in", "x", "y")
	}
	return set
}

// matched adds label sets and whether the selector matches them.
func matched(selector labels.Selector) (results []any) {
	for range 3 {
		set := someLabels()
		results = append(results, set, selector.Matches(labels.Set(set)))
	}
	return results
}

// labelSelectors: [text], or [text, canonical, labels, matches, labels, matches, ...].
func labelSelectors() (rows []row) {
	long := strings.Repeat("a", 63)
	fixed := []string{
		"", " ", "a=b,c!=d,e in (x,y),f notin (z),g,!h", "a==b", "a>1", "a<-1", "a>x", "a>1,a<5", "a in ()", "a in (,)", "a in (x,,y)", "a in x",
		"a=", "a,", ",a", "!a=b", "! a", "!!a", "a b", "a=(b)", "a in (b", "a in b)", "in", "in in (in,notin)", "notin notin (in)", "a = in", "x/a=1",
		"X/a=1", "/a=1", "x/=1", "x/y/a=1", "-a=1", "a-=1", "a.b_c-d=1", "a=-b", "a=b.", long + "=1", long + "a=1", "a=" + long, "a=" + long + "a",
		"a=b=c", "a=!b", "a!b", "a>", "a>1_0", "a>9223372036854775808", "a>9223372036854775807", "a\t=\nb", "a\u00a0=b", "é=1", "a=é", "a exists",
		"A=B", "a in (b) c", "a in (b),", "a in ((b))", "a in (b),c in (d)", "c,b,a", "a in (y,x,y)", "a=b,a=c", "<a", "a=>b", "=a", "a<=5", "a;b",
	}
	for _, text := range distinct(700, fixed, func() string {
		parts := []string{}
		for range 1 + random.IntN(3) {
			key := pick("a", "a", "b", "c", "x/a", "in")
			switch random.IntN(8) {
			case 0:
				parts = append(parts, pick("", "!", "! ")+key)
			case 1, 2:
				values := []string{}
				for range random.IntN(4) {
					values = append(values, pick("x", "y", " 1 ", "", "2", "in"))
				}
				parts = append(parts, key+pick(" in ", " notin ", "  in", " notin\t")+"("+strings.Join(values, ",")+")")
			case 3:
				parts = append(parts, key+pick(">", "<", " > ")+pick("1", "0", "4", "10", "x"))
			case 4:
				noise := ""
				for range 1 + random.IntN(5) {
					noise += pick("a", "b", "=", "!", "(", ")", ",", " ", "in", ">", "-")
				}
				parts = append(parts, noise)
			default:
				parts = append(parts, key+pick("=", "==", "!=", " = ", "!= ")+pick("x", "y", "1", "2", "", "in"))
			}
		}
		return strings.Join(parts, pick(",", ", "))
	}) {
		selector, err := labels.Parse(text)
		if err != nil {
			rows = append(rows, row{text})
			continue
		}
		rows = append(rows, append(row{text, selector.String()}, matched(selector)...))
	}
	return rows
}

// labelStructs: [LabelSelector or null], or [LabelSelector or null, canonical, labels, matches, labels, matches, ...].
func labelStructs() (rows []row) {
	for i := range 200 {
		var selector *metav1.LabelSelector
		if i > 0 {
			selector = &metav1.LabelSelector{}
		}
		if i > 1 {
			for range random.IntN(3) {
				metav1.AddLabelToSelector(selector, pick("a", "b", "x/a", "-"), pick("x", "y", "", "1"))
			}
			for range random.IntN(3) {
				values := map[string]bool{}
				for range random.IntN(3) {
					values[pick("x", "y", "1", "")] = true
				}
				expression := metav1.LabelSelectorRequirement{
					Key:      pick("a", "b", "c", "c"),
					Operator: metav1.LabelSelectorOperator(pick("In", "NotIn", "Exists", "DoesNotExist", "In", "NotIn", "Gt")),
				}
				for value := range values {
					expression.Values = append(expression.Values, value)
				}
				sort.Strings(expression.Values)
				selector.MatchExpressions = append(selector.MatchExpressions, expression)
			}
		}
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			rows = append(rows, row{selector})
			continue
		}
		rows = append(rows, append(row{selector, parsed.String()}, matched(parsed)...))
	}
	return rows
}

// fieldSelectors: [text], or [text, canonical, fields, matches, fields, matches, ...].
func fieldSelectors() (rows []row) {
	fixed := []string{
		"", ",", "a", "a=b", "a==b", "a!=b", "=", "=b", "a=", "a!=", "!=", "a=b,c=d", "a=b,,c=d", "a=b,", `a=b\,c`, `a=b\=c`, `a=b\\`, `a=b\`, `a=b\x`,
		"a=b=c", "a===b", "a=!b", "a!b=c", " a = b ", `a\,b=c`, `a\=b=c`, `a=\\\,`, "metadata.name=x,metadata.namespace!=y", "c=1,b=2,a=3", "é=ü", "a=b\nc",
	}
	for _, text := range distinct(300, fixed, func() string {
		text := ""
		for _, key := range []string{"c", "b", "a"} {
			if random.IntN(3) > 0 {
				text += pick("", ",") + key + pick("=", "==", "!=")
				for range random.IntN(4) {
					text += pick("x", "y", `\,`, `\=`, `\\`, "!", `\`, "=", ".")
				}
				text += ","
			}
		}
		return text
	}) {
		selector, err := fields.ParseSelector(text)
		if err != nil {
			rows = append(rows, row{text})
			continue
		}
		result := row{text, selector.String()}
		for range 3 {
			set := fields.Set{}
			for range random.IntN(3) {
				set[pick("a", "b", "c")] = pick("x", "y", "", ",", `\`)
			}
			for _, term := range selector.Requirements() {
				if random.IntN(2) == 0 {
					set[term.Field] = term.Value
				}
			}
			result = append(result, set, selector.Matches(set))
		}
		rows = append(rows, result)
	}
	return rows
}

// percentages: [value, total], or [value, total, rounded down, rounded up].
func percentages() (rows []row) {
	for i := range 300 {
		total := random.IntN(200) - 10
		var value intstr.IntOrString
		switch random.IntN(4) {
		case 0:
			value = intstr.FromInt32(int32(random.IntN(300) - 100))
		case 1:
			value = intstr.FromString(pick("5", "", "%", "5%%", "5 %", "1.5%", "+5%", "-5%", "x%", " 5%", "1_0%", "٣%", "0x5%", "-%", "007%"))
		default:
			value = intstr.FromString(fmt.Sprintf("%d%%", random.IntN(220)-20))
		}
		if i == 0 {
			value, total = intstr.FromString("33%"), 1_000_000_007
		}
		down, err := intstr.GetScaledValueFromIntOrPercent(&value, total, false)
		if err != nil {
			rows = append(rows, row{value, total})
			continue
		}
		up, err := intstr.GetScaledValueFromIntOrPercent(&value, total, true)
		must(err)
		rows = append(rows, row{value, total, down, up})
	}
	return rows
}
