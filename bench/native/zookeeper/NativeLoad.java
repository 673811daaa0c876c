import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/**
 * The same closed loops as our generator's, through ZooKeeper's own Java client and its asynchronous calls: the control that says
 * whether our generator is fair to ZooKeeper. Same arguments, same orders on standard input, same answers.
 */
public final class NativeLoad {
  private static final byte[] DATA = new byte[100];
  private static final byte[] EMPTY = new byte[0];
  private static final int LATENCIES = 1 << 17;
  private static final int NODES_A_TRANSACTION = 10;

  /** One operation; `done` is run when it is over. */
  private interface Operation {
    void run(Runnable done);
  }

  private static volatile boolean running;
  private static final AtomicLong completed = new AtomicLong();
  private static final AtomicInteger atWork = new AtomicInteger();
  private static volatile CountDownLatch idle = new CountDownLatch(1);
  private static final double[] latencies = new double[LATENCIES];
  private static final AtomicLong measured = new AtomicLong();

  public static void main(String[] args) throws Exception {
    Arrays.fill(DATA, (byte) 'a');
    String work = flag(args, "--work");
    int sessions = Integer.parseInt(flag(args, "--sessions"));
    int outstanding = Math.max(1, Math.round(Float.parseFloat(flag(args, "--outstanding")) / sessions));
    String[] servers = flag(args, "--servers").split(",");
    String prefix = flag(args, "--prefix");
    boolean ofLocks = work.equals("cycles") || work.equals("hand-overs") || work.equals("read-locks");
    Operation[] loops = new Operation[ofLocks ? sessions : sessions * outstanding];
    for (int n = 0; n < sessions; n++) {
      ZooKeeper client = open(servers[n % servers.length]);
      if (ofLocks) {
        String parent = "/" + prefix + (work.equals("hand-overs") ? "-lock" : "-lock-" + n);
        ensure(client, parent);
        loops[n] = work.equals("read-locks") ? new Cycle(client, parent, "/read-", "write-") : new Cycle(client, parent, "/lock-", "lock-");
      } else if (work.equals("transactions")) {
        List<Op> sets = new ArrayList<>();
        for (int at = 0; at < NODES_A_TRANSACTION; at++) {
          String node = "/" + prefix + "-node-" + (n * NODES_A_TRANSACTION + at);
          ensure(client, node);
          client.setData(node, DATA, -1);
          sets.add(Op.setData(node, DATA, -1));
        }
        Operation operation = timed(done -> client.multi(sets, (code, path, context, results) -> ok(code, done), null));
        for (int slot = 0; slot < outstanding; slot++) loops[n * outstanding + slot] = operation;
      } else {
        String node = "/" + prefix + "-node-" + n;
        ensure(client, node);
        client.setData(node, DATA, -1);
        Operation operation = timed(request(work, client, node));
        for (int slot = 0; slot < outstanding; slot++) loops[n * outstanding + slot] = operation;
      }
    }
    System.out.println("{\"ready\":true}");
    Pattern order = Pattern.compile("\"rampMs\":(\\d+),\"windowMs\":(\\d+)");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      Matcher match = order.matcher(line);
      if (!match.find()) fail("an order that is not a window: " + line);
      System.out.println(window(loops, Long.parseLong(match.group(1)), Long.parseLong(match.group(2))));
    }
    System.exit(0);
  }

  private static String window(Operation[] loops, long rampMs, long windowMs) throws InterruptedException {
    long beforeAll = completed.get();
    running = true;
    idle = new CountDownLatch(1);
    atWork.set(loops.length);
    for (Operation loop : loops) step(loop);
    Thread.sleep(rampMs);
    measured.set(0);
    long before = completed.get();
    long begun = System.nanoTime();
    Thread.sleep(windowMs);
    long operations = completed.get() - before;
    double seconds = (System.nanoTime() - begun) / 1e9;
    double[] sorted = Arrays.copyOf(latencies, (int) Math.min(LATENCIES, measured.get()));
    Arrays.sort(sorted);
    running = false;
    idle.await();
    return String.format(
        java.util.Locale.ROOT,
        "{\"operations\":%d,\"allOperations\":%d,\"seconds\":%.6f,\"p50Ms\":%.4f,\"p99Ms\":%.4f}",
        operations, completed.get() - beforeAll, seconds, percentile(sorted, 0.5), percentile(sorted, 0.99));
  }

  private static void step(Operation loop) {
    loop.run(() -> {
      completed.incrementAndGet();
      if (running) step(loop);
      else if (atWork.decrementAndGet() == 0) idle.countDown();
    });
  }

  private static Operation timed(Operation operation) {
    return done -> {
      long begun = System.nanoTime();
      operation.run(() -> {
        record(begun);
        done.run();
      });
    };
  }

  private static void record(long begun) {
    latencies[(int) (measured.getAndIncrement() % LATENCIES)] = (System.nanoTime() - begun) / 1e6;
  }

  private static double percentile(double[] sorted, double share) {
    return sorted.length == 0 ? 0 : sorted[Math.max(0, (int) Math.ceil(share * sorted.length) - 1)];
  }

  private static Operation request(String work, ZooKeeper client, String node) {
    switch (work) {
      case "writes":
        return done -> client.setData(node, DATA, -1, (code, path, context, stat) -> ok(code, done), null);
      case "session-reads":
        return done -> client.getData(node, false, (code, path, context, data, stat) -> ok(code, done), null);
      case "linearizable-reads":
        return done -> {
          client.sync(node, (code, path, context) -> ok(code, () -> {}), null);
          client.getData(node, false, (code, path, context, data, stat) -> ok(code, done), null);
        };
      default:
        throw new IllegalArgumentException("--work " + work + " is unknown");
    }
  }

  /** The lock recipe of ZooKeeper's documentation, and that of its shared locks, of which who reads waits for writers alone. */
  private static final class Cycle implements Operation {
    private final ZooKeeper client;
    private final String parent;
    private final String own;
    private final String waitedFor;

    /** @param own the prefix of the node that it makes; @param waitedFor the prefix of the nodes that it waits for, where they are before it */
    Cycle(ZooKeeper client, String parent, String own, String waitedFor) {
      this.client = client;
      this.parent = parent;
      this.own = own;
      this.waitedFor = waitedFor;
    }

    @Override
    public void run(Runnable done) {
      long begun = System.nanoTime();
      client.create(parent + own, EMPTY, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL,
          (code, path, context, name) -> ok(code, () -> takeTurn(name, () -> {
            record(begun);
            client.delete(name, -1, (deleted, p, c) -> ok(deleted, done), null);
          })), null);
    }

    private void takeTurn(String name, Runnable granted) {
      client.getChildren(parent, false, (code, path, context, children) -> ok(code, () -> {
        String before = before(children, name.substring(parent.length() + 1));
        if (before == null) granted.run();
        else waitFor(parent + "/" + before, () -> takeTurn(name, granted));
      }), null);
    }

    private void waitFor(String node, Runnable gone) {
      Watcher watcher = event -> {
        if (event.getType() == Watcher.Event.EventType.NodeDeleted) gone.run();
      };
      client.exists(node, watcher, (code, path, context, stat) -> {
        if (code == KeeperException.Code.NONODE.intValue()) gone.run();
        else ok(code, () -> {});
      }, null);
    }

    /** Prefixes differ, so the sequence numbers are compared, the last ten digits of every name. */
    private String before(List<String> children, String own) {
      String before = null;
      for (String child : children) {
        if (!child.startsWith(waitedFor) || number(child).compareTo(number(own)) >= 0) continue;
        if (before == null || number(child).compareTo(number(before)) > 0) before = child;
      }
      return before;
    }

    private static String number(String node) {
      return node.substring(node.length() - 10);
    }
  }

  private static ZooKeeper open(String server) throws Exception {
    CountDownLatch connected = new CountDownLatch(1);
    ZooKeeper client = new ZooKeeper(server, 30_000, event -> {
      if (event.getState() == Watcher.Event.KeeperState.SyncConnected) connected.countDown();
    });
    connected.await();
    return client;
  }

  private static void ensure(ZooKeeper client, String path) throws Exception {
    try {
      client.create(path, EMPTY, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    } catch (KeeperException.NodeExistsException exists) {
      // What it shall be.
    }
  }

  private static void ok(int code, Runnable next) {
    if (code == 0) next.run();
    else fail("ZooKeeper answered " + KeeperException.Code.get(code));
  }

  private static void fail(String message) {
    System.err.println(message);
    System.exit(1);
  }

  private static String flag(String[] args, String name) {
    for (int n = 0; n + 1 < args.length; n += 2) if (args[n].equals(name)) return args[n + 1];
    throw new IllegalArgumentException(name + " is missing");
  }
}
