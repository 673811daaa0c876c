import { describe, expect, it } from 'vitest';

import { errorReplyOf, repliesChanged, type MakeLie } from './support/lies.ts';
import { LyingMachine } from './support/lying-machine.ts';
import { PROMISES } from '../../src/properties/promises.ts';
import { runProperties } from '../../src/properties/run-properties.ts';

/** For each promise, a machine that breaks it and says so in the least conspicuous way. */
const LIES: Readonly<Record<string, MakeLie>> = {
  'a lock has no holders that may not hold it together': () => ({
    outputs: repliesChanged((reply, { index }) =>
      reply.type === 'acquire' && reply.token === 0 ? { ...reply, token: index } : reply,
    ),
  }),
  'a grant goes to a living session': () => ({
    outputs: (outputs, index) => {
      const [ended] = outputs.filter((output) => output.type === 'sessionEnded');
      if (ended === undefined) return outputs;
      return [{ type: 'granted', session: ended.session, lock: 'b', acquireIndex: 1, token: index }, ...outputs];
    },
  }),
  'only its own session releases a hold': () => ({
    outputs: repliesChanged((reply) =>
      reply.type === 'error' && reply.code === 'NOT_HELD' ? { type: 'done' } : reply,
    ),
  }),
  'a token is the index of its grant and above all earlier ones of its lock': () => ({
    outputs: (outputs) =>
      outputs.map((output) => (output.type === 'granted' ? { ...output, token: output.token - 1 } : output)),
  }),
  'a lock whose holder was lost is granted to nobody until its delay is over': () => ({
    answer: (answer) => {
      if (answer.type !== 'lock') return answer;
      const { delay: _hidden, ...others } = answer;
      return others;
    },
  }),
  'a floor is the lowest token under which a lock is held, and is reported when it rises': () => ({
    outputs: repliesChanged((reply) =>
      reply.type === 'acquire' && reply.floor !== undefined ? { ...reply, floor: reply.floor - 1 } : reply,
    ),
  }),
  'a lock for which others wait is reported to those who hold it': () => ({
    outputs: (outputs) => outputs.filter(({ type }) => type !== 'contended'),
  }),
  'grants follow the order of the acquires': () => ({
    answer: (answer) => (answer.type === 'lock' ? { ...answer, queue: answer.queue.toReversed() } : answer),
  }),
  'a free lock is granted at once': () => ({ outputs: (outputs) => outputs.filter(({ type }) => type !== 'granted') }),
  'what is acquired together is held together': () => ({
    answer: (answer, query) =>
      answer.type === 'lock' && query.type === 'lock' && query.lock === 'b' ? { ...answer, queue: [] } : answer,
  }),
  'a downgrade keeps the hold and its token': () => ({
    outputs: repliesChanged((reply) =>
      reply.type === 'error' && reply.code === 'NOT_HELD' ? { type: 'done' } : reply,
    ),
  }),
  'a wait that asks for it ends in a deadlock, and every deadlock is listed': () => ({
    answer: (answer) => (answer.type === 'waitingFor' ? { ...answer, deadlock: [] } : answer),
  }),
  'a request to release stays with its hold': () => ({
    answer: (answer) => {
      if (answer.type !== 'lock') return answer;
      const queue = answer.queue.map(({ releaseRequest: _hidden, ...entry }) => entry);
      return { ...answer, queue };
    },
  }),
  'an acquire that does not fit its lock is refused, and no other is': () => ({
    outputs: repliesChanged((reply) =>
      reply.type === 'error' && reply.code === 'INVALID_ARGUMENT' ? errorReplyOf('NOT_FOUND') : reply,
    ),
  }),
  'requests apply in the order of their numbers, without gaps': () => ({
    outputs: (outputs) =>
      outputs.map((output) =>
        output.type === 'refused' && output.code === 'OUT_OF_ORDER'
          ? { ...output, lastApplied: output.lastApplied + 1 }
          : output,
      ),
  }),
  'an answer is remembered until it is acknowledged, and no longer': () => ({
    outputs: (outputs) =>
      outputs.map((output) => {
        if (output.type !== 'refused' || output.number > output.lastApplied) return output;
        const { session, generation, number } = output;
        return { type: 'reply', session, generation, number, reply: { type: 'done' } };
      }),
  }),
  'a retry gets the same answer': () => {
    const answered = new Set<string>();
    return {
      outputs: repliesChanged((reply, { session, number }) => {
        const again = answered.has(`${session}/${number}`);
        answered.add(`${session}/${number}`);
        return again && reply.type === 'created' ? { ...reply, path: `${reply.path}x` } : reply;
      }),
    };
  },
  'each request takes effect once, and what is refused takes none': () => ({
    counts: (counts, index) => ({ ...counts, nodes: index % 7 === 0 ? 1 : counts.nodes }),
  }),
  'attaching reports the last request, every wait and every hold': () => ({
    outputs: (outputs) =>
      outputs.map((output) =>
        output.type === 'attached' && output.reply.type === 'attached'
          ? { ...output, reply: { ...output.reply, acquires: output.reply.acquires.slice(0, 2) } }
          : output,
      ),
  }),
  'a session ends only when it is closed or expired, and its losses are reported': () => ({
    outputs: (outputs) => outputs.filter(({ type }) => type !== 'lost'),
  }),
  'an ended session leaves nothing and never comes back': () => {
    const ever = new Map<number, string>();
    return {
      sessions: (sessions) => {
        for (const session of sessions) ever.set(session.id, JSON.stringify(session));
        return [...ever.values()].map((session) => JSON.parse(session));
      },
    };
  },
  'an idle lock leaves nothing': () => ({
    counts: (counts) => (counts.locks === 0 ? { ...counts, locks: 1 } : counts),
  }),
  'the nodes of a lock show its queue': () => ({
    answer: (answer, query) =>
      answer.type === 'get' && query.type === 'get' && query.path.startsWith('/holdfast/locks/')
        ? { ...answer, stat: { ...answer.stat, mzxid: answer.stat.czxid } }
        : answer,
  }),
  'nodes are what the commands made of them': () => ({
    answer: (answer) =>
      answer.type === 'get' && answer.stat.version === 2 ? { ...answer, stat: { ...answer.stat, version: 3 } } : answer,
  }),
  'the change feed notifies of every change of a node, in order': () => ({
    notifies: (kind) => kind !== 'granted',
  }),
  'queries about locks show what was reported': () => ({
    answer: (answer) => (answer.type === 'verify' ? { ...answer, token: 0 } : answer),
  }),
  'the listing of sessions shows each as it was created': () => ({
    answer: (answer) =>
      answer.type === 'sessions'
        ? { ...answer, sessions: answer.sessions.map((session) => ({ ...session, label: 'a lie' })) }
        : answer,
  }),
  'a malformed command is answered INVALID_ARGUMENT': () => ({
    outputs: repliesChanged((reply) =>
      reply.type === 'error' && reply.code === 'INVALID_ARGUMENT' ? errorReplyOf('NOT_FOUND') : reply,
    ),
  }),
  'every request is answered, known or not': () => ({
    outputs: (outputs) =>
      outputs.filter(
        (output) => output.type !== 'reply' || output.reply.type !== 'error' || output.reply.code !== 'UNSUPPORTED',
      ),
  }),
  'a request that the leader refuses is answered DISK_FULL': () => ({
    outputs: repliesChanged((reply) =>
      reply.type === 'error' && reply.code === 'DISK_FULL' ? errorReplyOf('OVERLOADED') : reply,
    ),
  }),
  'limits refuse what would exceed them, and nothing else': () => ({
    outputs: repliesChanged((reply) =>
      reply.type === 'error' && reply.code === 'LIMIT_EXCEEDED' ? errorReplyOf('OVERLOADED') : reply,
    ),
  }),
  'the same entries make the same outputs, digest and state on every machine': (() => {
    let machines = 0;
    return () => {
      machines += 1;
      const first = machines % 2 === 1;
      return { digest: (digest) => (first ? digest : digest + 1) };
    };
  })(),
  'a machine restored from a snapshot goes on as one that never was': () => ({
    restoredOutputs: repliesChanged((reply) => (reply.type === 'cancelled' ? { ...reply, token: 0 } : reply)),
  }),
};

const RUNS = 100;
const COMMANDS = 100;

describe.each(PROMISES.map((promise) => ({ promise, name: promise().name })))(
  'the promise "$name"',
  ({ promise, name }) => {
    it('is broken by a machine that breaks it, in few commands that are shown', () => {
      const makeLie = LIES[name];
      if (makeLie === undefined) throw new Error(`no machine breaks "${name}": add one to LIES`);
      const makeMachine = (): LyingMachine => new LyingMachine(makeLie());
      const report = runProperties({ runs: RUNS, commands: COMMANDS, seed: 1, promises: [promise], makeMachine });
      expect(report.passed).toBe(false);
      expect(report.failure).toMatchObject({ kind: 'promise', name });
      expect(report.failure?.message).not.toBe('');
      expect(report.failure?.commands.length).toBeLessThan(20);
    });
  },
);
