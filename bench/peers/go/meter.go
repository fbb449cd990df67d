package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// cost is what a job took, in the harness's words.
type cost struct {
	CPU     float64 `json:"cpu"`     // seconds of this process, user and system, all threads
	Wall    float64 `json:"wall"`    // seconds
	Count   int     `json:"count"`   // requests made or objects listed
	RSS     int64   `json:"rss"`     // peak, in bytes; 0 where it cannot be told
	Version string  `json:"version"` // of what was measured
}

func measure(j job, work func() error) (cost, error) {
	runtime.GC() // set-up's garbage is not the work's
	cpu, start := cpuSeconds(), time.Now()
	if err := work(); err != nil {
		return cost{}, err
	}
	wall := time.Since(start).Seconds()
	return cost{
		CPU:     cpuSeconds() - cpu,
		Wall:    wall,
		Count:   j.count,
		RSS:     peakMemory(),
		Version: "client-go " + version("k8s.io/client-go") + ", " + runtime.Version(),
	}, nil
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails only for arguments that are wrong
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peakMemory is not getrusage's: that begins with the peak of the process that started this one.
func peakMemory() int64 { return statusBytes("VmHWM:") }

// inFlight calls do(0) … do(count-1), so many at a time, and gives the first error.
func inFlight(j job, do func(i int) error) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	errs := make(chan error, j.inFlight)
	for range j.inFlight {
		workers.Go(func() {
			for i := int(next.Add(1) - 1); i < j.count; i = int(next.Add(1) - 1) {
				if err := do(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	workers.Wait()
	close(errs)
	return <-errs
}
