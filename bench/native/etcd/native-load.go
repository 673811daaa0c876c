// The same closed loops as our generator's, through etcd's own Go client: the control that says whether our generator is fair to
// etcd. Same arguments, same orders on standard input, same answers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

const (
	latencyCapacity   = 1 << 17
	nodesATransaction = 10
)

var (
	completed int64
	measured  int64
	latencies [latencyCapacity]float64
)

func record(begun time.Time) {
	n := atomic.AddInt64(&measured, 1) - 1
	latencies[n%latencyCapacity] = float64(time.Since(begun).Nanoseconds()) / 1e6
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// operations returns the loops of one client.
func operations(work, prefix string, n, outstanding int, client *clientv3.Client) []func() {
	ctx := context.Background()
	if work == "cycles" || work == "hand-overs" {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(30))
		fail(err)
		lock := prefix + "-lock"
		if work == "cycles" {
			lock = fmt.Sprintf("%s-lock-%d", prefix, n)
		}
		return []func(){func() {
			mutex := concurrency.NewMutex(session, lock)
			begun := time.Now()
			fail(mutex.Lock(ctx))
			record(begun)
			fail(mutex.Unlock(ctx))
		}}
	}
	node := fmt.Sprintf("/%s-node-%d", prefix, n)
	data := strings.Repeat("a", 100)
	_, err := client.Put(ctx, node, data)
	fail(err)
	var puts []clientv3.Op
	for at := 0; work == "transactions" && at < nodesATransaction; at++ {
		puts = append(puts, clientv3.OpPut(fmt.Sprintf("%s-%d", node, at), data))
	}
	request := func() error {
		switch work {
		case "writes":
			_, err := client.Put(ctx, node, data)
			return err
		case "transactions":
			_, err := client.Txn(ctx).Then(puts...).Commit()
			return err
		case "linearizable-reads":
			_, err := client.Get(ctx, node)
			return err
		case "session-reads":
			_, err := client.Get(ctx, node, clientv3.WithSerializable())
			return err
		}
		return fmt.Errorf("--work %s is unknown", work)
	}
	loops := make([]func(), outstanding)
	for slot := range loops {
		loops[slot] = func() {
			begun := time.Now()
			fail(request())
			record(begun)
		}
	}
	return loops
}

func window(loops []func(), rampMs, windowMs int) {
	beforeAll := atomic.LoadInt64(&completed)
	var running int32 = 1
	var done sync.WaitGroup
	done.Add(len(loops))
	for _, loop := range loops {
		go func(run func()) {
			defer done.Done()
			for atomic.LoadInt32(&running) == 1 {
				run()
				atomic.AddInt64(&completed, 1)
			}
		}(loop)
	}
	time.Sleep(time.Duration(rampMs) * time.Millisecond)
	atomic.StoreInt64(&measured, 0)
	before := atomic.LoadInt64(&completed)
	begun := time.Now()
	time.Sleep(time.Duration(windowMs) * time.Millisecond)
	count := atomic.LoadInt64(&completed) - before
	seconds := time.Since(begun).Seconds()
	total := atomic.LoadInt64(&measured)
	if total > latencyCapacity {
		total = latencyCapacity
	}
	sorted := append([]float64{}, latencies[:total]...)
	sort.Float64s(sorted)
	atomic.StoreInt32(&running, 0)
	done.Wait()
	fmt.Printf("{\"operations\":%d,\"allOperations\":%d,\"seconds\":%.6f,\"p50Ms\":%.4f,\"p99Ms\":%.4f}\n",
		count, atomic.LoadInt64(&completed)-beforeAll, seconds, percentile(sorted, 0.5), percentile(sorted, 0.99))
}

func percentile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(math.Max(0, math.Ceil(share*float64(len(sorted)))-1))]
}

func main() {
	work := flag.String("work", "", "")
	sessions := flag.Int("sessions", 1, "")
	outstanding := flag.Int("outstanding", 1, "requests under way, of all clients together")
	servers := flag.String("servers", "", "")
	prefix := flag.String("prefix", "bench", "")
	flag.Parse()
	addresses := strings.Split(*servers, ",")
	each := *outstanding / *sessions
	if each < 1 {
		each = 1
	}
	var loops []func()
	for n := 0; n < *sessions; n++ {
		client, err := clientv3.New(clientv3.Config{
			Endpoints:   []string{addresses[n%len(addresses)]},
			DialTimeout: 10 * time.Second,
		})
		fail(err)
		loops = append(loops, operations(*work, *prefix, n, each, client)...)
	}
	fmt.Println(`{"ready":true}`)
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var order struct {
			RampMs   int `json:"rampMs"`
			WindowMs int `json:"windowMs"`
		}
		fail(json.Unmarshal(input.Bytes(), &order))
		window(loops, order.RampMs, order.WindowMs)
	}
}
