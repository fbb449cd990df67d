package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// stampAnnotation is where a writer says when it wrote, in seconds since 1970.
const stampAnnotation = "trimtab.dev/written-at"

// stage is where an informer shows what it costs, in the lines that every contestant prints: see bench/informer/lines.py.
type stage struct {
	version string
	cpu     float64
	start   time.Time
	before  memory

	wanted  int
	latency []float64
	events  int
	done    chan struct{}
}

type memory struct{ rss, heap int64 }

type syncedLine struct {
	N       int     `json:"n"`
	Wall    float64 `json:"wall_s"`
	CPU     float64 `json:"cpu_s"`
	Before  float64 `json:"rss_mb_before"`
	After   float64 `json:"rss_mb_after"`
	Peak    float64 `json:"rss_mb_peak"`
	Heap    float64 `json:"heap_mb_held"`
	Version string  `json:"version"`
}

type followedLine struct {
	Events   int      `json:"events"`
	CPU      float64  `json:"cpu_s"`
	PerEvent float64  `json:"us_per_event"`
	P50      *float64 `json:"p50_ms"`
	P99      *float64 `json:"p99_ms"`
	Wall     float64  `json:"wall_s"`
}

// begin says that the set-up is done and the informer is about to be made.
func begin(version string, events int) *stage {
	return &stage{
		version: version,
		before:  held(),
		wanted:  events,
		latency: make([]float64, 0, events),
		done:    make(chan struct{}),
		cpu:     cpuSeconds(),
		start:   time.Now(),
	}
}

// synced says that all objects are there and every handler has heard of them.
func (s *stage) synced(n int) {
	line := syncedLine{
		N:       n,
		CPU:     cpuSeconds() - s.cpu,
		Wall:    time.Since(s.start).Seconds(),
		Before:  float64(s.before.rss) / 1e6,
		Peak:    float64(peakMemory()) / 1e6,
		Version: s.version,
	}
	after := held()
	line.After, line.Heap = float64(after.rss)/1e6, float64(after.heap-s.before.heap)/1e6
	say(line)
}

// follow waits for the updates and says what they took.
func (s *stage) follow() {
	cpu, start := cpuSeconds(), time.Now()
	fmt.Println("ready")
	<-s.done
	spent := cpuSeconds() - cpu
	say(followedLine{
		Events:   s.wanted,
		CPU:      spent,
		PerEvent: spent / float64(s.wanted) * 1e6,
		P50:      percentile(s.latency, 0.50),
		P99:      percentile(s.latency, 0.99),
		Wall:     time.Since(start).Seconds(),
	})
}

// updated hears of one update, from the one goroutine in which a handler runs.
func (s *stage) updated(annotations map[string]string) {
	if s.events++; s.events > s.wanted {
		return
	}
	if written, err := strconv.ParseFloat(annotations[stampAnnotation], 64); err == nil {
		s.latency = append(s.latency, float64(time.Now().UnixNano())/1e6-written*1e3)
	}
	if s.events == s.wanted {
		close(s.done)
	}
}

// percentile gives the value below which that share lies, or nothing where nothing was measured.
func percentile(values []float64, share float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	return &values[min(int(share*float64(len(values))), len(values)-1)]
}

// held collects garbage, gives what is free back to the system, and says what is left.
func held() memory {
	runtime.GC()
	runtime.GC() // a second time for what finalizers and pools let go of in the first
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return memory{rss: statusBytes("VmRSS:"), heap: int64(stats.HeapAlloc)}
}

// statusBytes reads a size from Linux's /proc; 0 where it cannot be told.
func statusBytes(field string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kilobytes int64
	if _, value, found := strings.Cut(string(status), field); found {
		fmt.Sscan(value, &kilobytes)
	}
	return kilobytes * 1024
}

func say(line any) {
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		panic(err) // nobody listens any more
	}
}
