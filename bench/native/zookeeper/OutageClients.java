import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.StringJoiner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Clients that take a lock of their own and give it back, again and again, and know the longest time that they went without: the same
 * as our generator's, through ZooKeeper's own Java client. Each lock is an ephemeral node of one name, so a call that was cut off
 * can be made again: who owns the node says whether it had its effect.
 */
public final class OutageClients {
  private static final byte[] EMPTY = new byte[0];
  private static final long REST_MS = 20;
  private static final long RETRY_MS = 10;

  private static final class Client extends Thread {
    private final String servers;
    private final int sessionTimeoutMs;
    private final String lock;
    private final CountDownLatch opened;
    private ZooKeeper keeper;
    private long lastAt = System.nanoTime();
    private long longest;
    private boolean served;
    private int sessionsLost;
    private int renewals;

    Client(String servers, int sessionTimeoutMs, String lock, CountDownLatch opened) {
      this.servers = servers;
      this.sessionTimeoutMs = sessionTimeoutMs;
      this.lock = lock;
      this.opened = opened;
      setDaemon(true);
    }

    @Override
    public void run() {
      try {
        keeper = open();
        opened.countDown();
        while (true) {
          int begun = renewals();
          acquire();
          release();
          ended(begun);
          Thread.sleep(REST_MS);
        }
      } catch (Exception error) {
        System.err.println(error);
        System.exit(1);
      }
    }

    private void acquire() throws Exception {
      while (true) {
        try {
          keeper.create(lock, EMPTY, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
          return;
        } catch (KeeperException.NodeExistsException exists) {
          if (own()) return;
          Thread.sleep(RETRY_MS);
        } catch (KeeperException error) {
          recover(error);
        }
      }
    }

    /** Whether the node is of this session: an earlier attempt, whose answer was lost, made it. */
    private boolean own() throws Exception {
      while (true) {
        try {
          Stat stat = keeper.exists(lock, false);
          return stat != null && stat.getEphemeralOwner() == keeper.getSessionId();
        } catch (KeeperException error) {
          recover(error);
        }
      }
    }

    private void release() throws Exception {
      while (true) {
        try {
          keeper.delete(lock, -1);
          return;
        } catch (KeeperException.NoNodeException gone) {
          return;
        } catch (KeeperException error) {
          recover(error);
        }
      }
    }

    private void recover(KeeperException error) throws Exception {
      KeeperException.Code code = error.code();
      if (code == KeeperException.Code.SESSIONEXPIRED || code == KeeperException.Code.AUTHFAILED) {
        synchronized (this) {
          sessionsLost += 1;
        }
        keeper.close();
        keeper = open();
      } else Thread.sleep(RETRY_MS);
    }

    private ZooKeeper open() throws Exception {
      while (true) {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper(servers, sessionTimeoutMs, event -> {
          if (event.getState() == Watcher.Event.KeeperState.SyncConnected) connected.countDown();
        });
        if (connected.await(10, TimeUnit.SECONDS)) return client;
        client.close();
      }
    }

    private synchronized int renewals() {
      return renewals;
    }

    private synchronized void ended(int begun) {
      long now = System.nanoTime();
      longest = Math.max(longest, now - lastAt);
      lastAt = now;
      if (begun == renewals) served = true;
    }

    synchronized void mark() {
      lastAt = System.nanoTime();
      longest = 0;
      sessionsLost = 0;
      renew();
    }

    synchronized void renew() {
      renewals += 1;
      served = false;
    }

    synchronized long longestMs() {
      return Math.round(Math.max(longest, System.nanoTime() - lastAt) / 1e6);
    }

    synchronized boolean isServed() {
      return served;
    }

    synchronized int lost() {
      return sessionsLost;
    }
  }

  public static void main(String[] args) throws Exception {
    int sessions = Integer.parseInt(flag(args, "--sessions"));
    int timeoutMs = Integer.parseInt(flag(args, "--session-timeout-ms"));
    String prefix = flag(args, "--prefix");
    CountDownLatch opened = new CountDownLatch(sessions);
    Client[] clients = new Client[sessions];
    for (int n = 0; n < sessions; n++) {
      clients[n] = new Client(flag(args, "--servers"), timeoutMs, "/" + prefix + "-lock-" + n, opened);
      clients[n].start();
    }
    opened.await();
    System.out.println("{\"ready\":true}");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      if (line.contains("\"mark\"")) for (Client client : clients) client.mark();
      else if (line.contains("\"renew\"")) for (Client client : clients) client.renew();
      else if (!line.contains("\"outages\"")) throw new IllegalArgumentException("an order that is unknown: " + line);
      System.out.println(report(clients));
    }
    System.exit(0);
  }

  private static String report(Client[] clients) {
    StringJoiner longest = new StringJoiner(",");
    int served = 0;
    int lost = 0;
    for (Client client : clients) {
      longest.add(Long.toString(client.longestMs()));
      if (client.isServed()) served += 1;
      lost += client.lost();
    }
    return "{\"longestMs\":[" + longest + "],\"served\":" + served + ",\"sessionsLost\":" + lost + "}";
  }

  private static String flag(String[] args, String name) {
    for (int n = 0; n + 1 < args.length; n += 2) if (args[n].equals(name)) return args[n + 1];
    throw new IllegalArgumentException(name + " is missing");
  }
}
