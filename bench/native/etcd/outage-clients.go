// Clients that take a lock of their own and give it back, again and again, and know the longest time that they went without: the
// same as our generator's, through etcd's own Go client. Each lock is a key with a lease, so a call that was cut off can be made
// again: the lease of the key says whether it had its effect.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
	"google.golang.org/grpc"
)

const (
	rest  = 20 * time.Millisecond
	retry = 10 * time.Millisecond
	// How long one attempt may take before it is made again at the next server: the client itself would wait for ever.
	patience = time.Second
)

type lockClient struct {
	client  *clientv3.Client
	session *concurrency.Session
	ttl     int
	lock    string

	mutex        sync.Mutex
	lastAt       time.Time
	longest      time.Duration
	served       bool
	sessionsLost int
	renewals     int
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// attempt asks a server that knows a leader.
func attempt(call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(context.Background()), patience)
	defer cancel()
	return call(ctx)
}

// open makes a lease that is kept alive, however long it takes.
func (c *lockClient) open() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		granted, err := c.client.Grant(ctx, int64(c.ttl))
		cancel()
		if err == nil {
			c.session, err = concurrency.NewSession(c.client, concurrency.WithLease(granted.ID))
		}
		if err == nil {
			return
		}
		time.Sleep(retry)
	}
}

func (c *lockClient) lost() bool {
	select {
	case <-c.session.Done():
		return true
	default:
		return false
	}
}

// untilDone makes the call again until it says that it is done; a session that ended is made anew in between.
func (c *lockClient) untilDone(call func(ctx context.Context) (bool, error)) {
	for {
		done := false
		err := attempt(func(ctx context.Context) (err error) {
			done, err = call(ctx)
			return err
		})
		if err == nil && done {
			return
		}
		if c.lost() || (err != nil && strings.Contains(err.Error(), "requested lease not found")) {
			c.mutex.Lock()
			c.sessionsLost++
			c.mutex.Unlock()
			c.open()
		}
		time.Sleep(retry)
	}
}

func (c *lockClient) acquire(ctx context.Context) (bool, error) {
	lease := c.session.Lease()
	answer, err := c.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(c.lock), "=", 0)).
		Then(clientv3.OpPut(c.lock, "", clientv3.WithLease(lease))).
		Else(clientv3.OpGet(c.lock)).
		Commit()
	if err != nil {
		return false, err
	}
	if answer.Succeeded {
		return true, nil
	}
	keys := answer.Responses[0].GetResponseRange().Kvs
	return len(keys) == 1 && clientv3.LeaseID(keys[0].Lease) == lease, nil
}

func (c *lockClient) release(ctx context.Context) (bool, error) {
	_, err := c.client.Delete(ctx, c.lock)
	return true, err
}

func (c *lockClient) run() {
	for {
		c.mutex.Lock()
		begun := c.renewals
		c.mutex.Unlock()
		c.untilDone(c.acquire)
		c.untilDone(c.release)
		c.mutex.Lock()
		now := time.Now()
		if gap := now.Sub(c.lastAt); gap > c.longest {
			c.longest = gap
		}
		c.lastAt = now
		if begun == c.renewals {
			c.served = true
		}
		c.mutex.Unlock()
		time.Sleep(rest)
	}
}

func (c *lockClient) order(kind string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if kind == "mark" {
		c.lastAt = time.Now()
		c.longest = 0
		c.sessionsLost = 0
	}
	if kind == "mark" || kind == "renew" {
		c.renewals++
		c.served = false
	}
}

type report struct {
	LongestMs    []int64 `json:"longestMs"`
	Served       int     `json:"served"`
	SessionsLost int     `json:"sessionsLost"`
}

func reportOf(clients []*lockClient) report {
	told := report{LongestMs: []int64{}}
	for _, c := range clients {
		c.mutex.Lock()
		longest := time.Since(c.lastAt)
		if c.longest > longest {
			longest = c.longest
		}
		told.LongestMs = append(told.LongestMs, longest.Milliseconds())
		if c.served {
			told.Served++
		}
		told.SessionsLost += c.sessionsLost
		c.mutex.Unlock()
	}
	return told
}

func main() {
	flag.String("work", "", "")
	sessions := flag.Int("sessions", 1, "")
	flag.Int("outstanding", 1, "")
	timeoutMs := flag.Int("session-timeout-ms", 10_000, "")
	servers := flag.String("servers", "", "")
	prefix := flag.String("prefix", "bench", "")
	flag.Parse()
	clients := make([]*lockClient, *sessions)
	var opened sync.WaitGroup
	opened.Add(*sessions)
	for n := range clients {
		client, err := clientv3.New(clientv3.Config{
			Endpoints:   strings.Split(*servers, ","),
			DialTimeout: patience,
			// A server that was away is dialled again within two minutes otherwise.
			DialOptions: []grpc.DialOption{grpc.WithBackoffMaxDelay(patience)},
		})
		fail(err)
		lock := fmt.Sprintf("/%s-lock-%d", *prefix, n)
		clients[n] = &lockClient{client: client, ttl: *timeoutMs / 1_000, lock: lock, lastAt: time.Now()}
		go func(c *lockClient) {
			c.open()
			opened.Done()
			c.run()
		}(clients[n])
	}
	opened.Wait()
	fmt.Println(`{"ready":true}`)
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var order struct {
			Type string `json:"type"`
		}
		fail(json.Unmarshal(input.Bytes(), &order))
		for _, c := range clients {
			c.order(order.Type)
		}
		answer, err := json.Marshal(reportOf(clients))
		fail(err)
		fmt.Println(string(answer))
	}
}
