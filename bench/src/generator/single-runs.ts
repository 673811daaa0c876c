/** What is measured once and not in windows: many nodes created, a change told to many watchers, a leader killed. */

import type { OpenSession, RawSession } from './raw-session.ts';

const NODES_AT_ONCE = 500;
const NO_DATA = new Uint8Array();
const REOPEN_DELAY_MS = 5;
/** After the kill a new write begins so often at each survivor; one that the dead leader took with it must not hold up the rest. */
const PROBE_INTERVAL_MS = 10;

/** Calls back when all of `count` have been created, spread over the sessions. */
export function createEphemerals(sessions: readonly RawSession[], prefix: string, count: number): Promise<void> {
  const perSession = Math.ceil(count / sessions.length);
  return everySession(sessions, (session, position, finished) => {
    let created = 0;
    const next = (): void => {
      if (created === perSession) finished();
      else session.createEphemeral(`${prefix}${position}-${(created += 1)}`, NO_DATA, next);
    };
    next();
  });
}

export function createNodes(
  sessions: readonly RawSession[],
  prefix: string,
  count: number,
  data: Uint8Array,
): Promise<void> {
  let begun = 0;
  return everySession(sessions, (session, _position, finished) => {
    const next = (): void => {
      const size = Math.min(NODES_AT_ONCE, count - begun);
      if (size === 0) {
        finished();
        return;
      }
      const nodes = Array.from({ length: size }, (_, n) => `${prefix}${begun + n}`);
      begun += size;
      session.createNodes(nodes, data, next);
    };
    next();
  });
}

/** Milliseconds from a write until the last of `perSession` watchers on each session has been told, one value a round. */
export async function tellWatchers(
  sessions: readonly RawSession[],
  writer: RawSession,
  options: { readonly node: string; readonly data: Uint8Array; readonly perSession: number; readonly rounds: number },
): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    let left = sessions.length * options.perSession;
    let armed = left;
    let begun = 0;
    times.push(
      await new Promise<number>((resolve) => {
        const change = (): void => {
          begun = performance.now();
          writer.write(options.node, options.data, () => undefined);
        };
        const told = (): void => {
          left -= 1;
          if (left === 0) resolve(performance.now() - begun);
        };
        const isArmed = (): void => {
          armed -= 1;
          if (armed === 0) setTimeout(change, 20);
        };
        for (const session of sessions) {
          for (let n = 0; n < options.perSession; n += 1) session.watch?.(options.node, isArmed, told);
        }
      }),
    );
  }
  return times;
}

/**
 * Writes at every surviving server, each through a session that existed before and is opened anew whenever it is lost; kills the
 * leader; resolves with the milliseconds from then to the first success of a write that began after it.
 */
export function killLeader(
  open: OpenSession<RawSession>,
  survivors: readonly string[],
  options: {
    readonly node: string;
    readonly data: Uint8Array;
    readonly sessionTimeoutMs: number;
    readonly pid: number;
  },
): Promise<number> {
  return new Promise((resolve) => {
    let killedAt = Infinity;
    let over = false;
    const sessions = new Set<RawSession>();
    const write = (session: RawSession): void => {
      const begun = performance.now();
      session.write(options.node, options.data, () => {
        if (over || begun < killedAt) return;
        over = true;
        clearInterval(probing);
        for (const opened of sessions) opened.destroy();
        resolve(performance.now() - killedAt);
      });
    };
    const keepOpen = (address: string, opened: () => void): void => {
      if (over) return;
      let own: RawSession | undefined;
      let lost = false;
      open(
        {
          address,
          sessionTimeoutMs: options.sessionTimeoutMs,
          onFailure: () => {
            if (lost) return;
            lost = true;
            if (own !== undefined) {
              sessions.delete(own);
              own.destroy();
            }
            setTimeout(() => keepOpen(address, opened), REOPEN_DELAY_MS);
          },
        },
        (session) => {
          if (lost) return;
          own = session;
          sessions.add(session);
          write(session);
          opened();
        },
      );
    };
    let probing: NodeJS.Timeout | undefined;
    let missing = survivors.length;
    const begin = (): void => {
      missing -= 1;
      if (missing !== 0) return;
      killedAt = performance.now();
      process.kill(options.pid, 'SIGKILL');
      probing = setInterval(() => {
        for (const session of sessions) write(session);
      }, PROBE_INTERVAL_MS);
    };
    for (const address of survivors) keepOpen(address, begin);
  });
}

/**
 * Resolves when a new session at that server has read the node. Opening it is an entry of the log, which the server must have
 * applied, with everything before it, by then.
 */
export function awaitNode(
  open: OpenSession<RawSession>,
  address: string,
  node: string,
  sessionTimeoutMs: number,
): Promise<void> {
  return new Promise((resolve) => {
    const attempt = (): void => {
      let own: RawSession | undefined;
      let over = false;
      const onFailure = (): void => {
        if (over) return;
        over = true;
        own?.destroy();
        setTimeout(attempt, REOPEN_DELAY_MS);
      };
      open({ address, sessionTimeoutMs, onFailure }, (session) => {
        if (over) return;
        own = session;
        session.sessionRead(node, () => {
          over = true;
          session.destroy();
          resolve();
        });
      });
    };
    attempt();
  });
}

function everySession(
  sessions: readonly RawSession[],
  run: (session: RawSession, position: number, finished: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    let left = sessions.length;
    for (const [position, session] of sessions.entries()) {
      run(session, position, () => {
        left -= 1;
        if (left === 0) resolve();
      });
    }
  });
}
