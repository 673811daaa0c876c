import { describe, expect, it } from 'vitest';
import {
  EMPTY_CONFIGURATION,
  MAX_MEMBERS,
  initialConfiguration,
  logIndex,
  serverId,
  type Configuration,
  type ServerId,
} from '../../src/core/index.ts';
import {
  NOT_ADMITTED,
  admission,
  ownSecrets,
  type AdmissionContext,
  type Candidate,
  type MembershipView,
  type OwnSecrets,
} from '../../src/peers/peer-admission.ts';

const OWN = serverId(1);
const NO_ECHO = new Uint8Array(0);

interface Claims {
  readonly secrets?: readonly string[];
  readonly incarnation?: string;
  readonly knowsUs?: boolean;
  readonly purpose?: Candidate['hello']['purpose'];
}

function candidate(
  from: number,
  { secrets = [], incarnation = '', knowsUs = false, purpose = 'log' }: Claims = {},
): Candidate {
  const own = incarnation === '' ? secrets : [...secrets, incarnation];
  const hello = { from: serverId(from), purpose, echo: NO_ECHO };
  return { hello, incarnation, knowsUs, proves: (secret) => secret !== '' && own.includes(secret) };
}

function at(latest: Configuration, committed = latest): MembershipView {
  return { latest: { index: logIndex(7), configuration: latest }, committed };
}

function context(view: MembershipView, others: Partial<AdmissionContext> = {}): AdmissionContext {
  return { view, own: OWN, nonMembers: new Set(), confirms: () => undefined, echoes: () => false, ...others };
}

const founders = initialConfiguration([1, 2, 3].map((id) => ({ id: serverId(id), peerAddress: `host:${id}` })));

/** Every founder is known by its directory. */
const known: Configuration = {
  ...founders,
  members: founders.members.map((member) => ({ ...member, incarnation: `disk-${member.id}` })),
};

const refusal = { type: 'refused', reason: NOT_ADMITTED };

describe('a member that is known by its data directory', () => {
  it('is heard when it proves that directory, whoever told which', () => {
    const verdict = admission(context(at(known)), candidate(2, { secrets: ['disk-2'] }));
    expect(verdict).toEqual({ type: 'admitted', standing: 'member', incarnation: 'disk-2' });
  });

  it('is not heard without that proof, and is told so where the configuration has it', () => {
    for (const claims of [{}, { incarnation: 'another disk' }, { knowsUs: true, incarnation: 'another disk' }]) {
      const verdict = admission(context(at(known)), candidate(2, claims));
      expect(verdict).toMatchObject({ ...refusal, expulsion: 'WRONG_INCARNATION' });
    }
  });

  it('is known by what is committed where what is in force does not know it', () => {
    const verdict = admission(context(at(founders, known)), candidate(2, { incarnation: 'another disk' }));
    expect(verdict).toMatchObject(refusal);
  });
});

describe('a founder of whom nothing is known yet', () => {
  const told = candidate(2, { incarnation: 'disk-2' });

  it('waits until the server at its address has shown the same directory', () => {
    expect(admission(context(at(founders)), told)).toEqual({ type: 'waits' });
    expect(admission(context(at(founders), { confirms: () => true }), told)).toMatchObject({ type: 'admitted' });
    expect(admission(context(at(founders), { confirms: () => false }), told)).toMatchObject(refusal);
  });

  it('need not wait when it knows this server', () => {
    const knowing = candidate(2, { incarnation: 'disk-2', knowsUs: true });
    expect(admission(context(at(founders)), knowing)).toMatchObject({ type: 'admitted', standing: 'member' });
  });

  it('that tells no directory is no founder', () => {
    expect(admission(context(at(founders)), candidate(2))).toMatchObject(refusal);
  });
});

describe('a member that was added by a join secret', () => {
  const joining: Configuration = {
    ...known,
    members: [
      ...known.members,
      {
        id: serverId(4),
        peerAddress: 'host:4',
        clientAddress: '',
        incarnation: '',
        joinSecret: 'printed',
        role: 'learner',
        outgoing: false,
      },
    ],
  };

  it('is heard when it proves the secret and tells its directory', () => {
    const proved = candidate(4, { secrets: ['printed'], incarnation: 'disk-4' });
    expect(admission(context(at(joining)), proved)).toMatchObject({ type: 'admitted', incarnation: 'disk-4' });
    expect(admission(context(at(joining)), candidate(4, { secrets: ['printed'] }))).toMatchObject(refusal);
    expect(admission(context(at(joining)), candidate(4, { incarnation: 'disk-4', knowsUs: true }))).toMatchObject(
      refusal,
    );
  });
});

describe('the secrets of a server that joins', () => {
  const offers = (): readonly string[] => ['printed now', 'printed before'];
  const of = (members: Configuration['members']): OwnSecrets =>
    ownSecrets(at({ ...known, members }), serverId(4), 'disk-4', offers);
  const added = (incarnation: string): Configuration['members'] => {
    const told = { clientAddress: '', incarnation, joinSecret: 'printed', role: 'learner', outgoing: false } as const;
    return [...known.members, { id: serverId(4), peerAddress: 'host:4', ...told }];
  };

  it('are those that it offers until the configuration that it has takes it in, however many others that has', () => {
    const offered = ['disk-4', 'printed now', 'printed before'];
    for (const members of [[], known.members]) expect(of(members)).toEqual({ provenBy: offered, knownBy: offered });
  });

  it('are the one by which it was added, until its directory is known', () => {
    expect(of(added(''))).toEqual({ provenBy: ['disk-4', 'printed'], knownBy: ['disk-4', 'printed'] });
  });

  it('prove it to members that lag for good, and nobody else to it', () => {
    expect(of(added('disk-4'))).toEqual({ provenBy: ['disk-4', 'printed'], knownBy: ['disk-4'] });
  });

  it('of a founder are its directory alone', () => {
    const founder = ownSecrets(at(founders), OWN, 'disk-1', () => []);
    expect(founder).toEqual({ provenBy: ['disk-1'], knownBy: ['disk-1'] });
  });
});

describe('a server that is no member as far as this one knows', () => {
  it('is a stranger, however new its configuration is said to be', () => {
    for (const view of [at(known), at(founders), at(EMPTY_CONFIGURATION)])
      expect(admission(context(view), candidate(9, { incarnation: 'disk-9' }))).toEqual({
        ...refusal,
        problem: 'server 9 is no member here, and does not prove to know this one',
      });
  });

  it('is heard as a non-member when it proves that it knows this server: this one lags, or waits to be added', () => {
    for (const view of [at(known), at(EMPTY_CONFIGURATION)])
      expect(admission(context(view), candidate(9, { knowsUs: true }))).toMatchObject({ standing: 'non-member' });
  });

  it('is one of as many as the largest cluster has, and may bring a snapshot beside', () => {
    const nonMembers = new Set<ServerId>(Array.from({ length: MAX_MEMBERS }, (_, n) => serverId(n + 2)));
    const full = context(at(EMPTY_CONFIGURATION), { nonMembers });
    expect(admission(full, candidate(3, { knowsUs: true, purpose: 'snapshot' }))).toMatchObject({ type: 'admitted' });
    expect(admission(full, candidate(99, { knowsUs: true }))).toMatchObject(refusal);
  });

  it('does not speak for this server itself', () => {
    expect(admission(context(at(known)), candidate(1, { secrets: ['disk-1'], knowsUs: true }))).toMatchObject(refusal);
  });
});

describe('a server that was removed', () => {
  const smaller: Configuration = {
    members: known.members.filter(({ id }) => id !== 3),
    retired: [serverId(3), serverId(8)],
    former: [{ id: serverId(3), peerAddress: 'host:3', incarnation: 'disk-3' }],
  };

  it('is told so when it proves that it is that server, and otherwise no more than any stranger', () => {
    const back = admission(context(at(smaller)), candidate(3, { secrets: ['disk-3'], knowsUs: true }));
    expect(back).toMatchObject({ type: 'refused', expulsion: 'MEMBER_REMOVED', proved: true });
    expect(back).toMatchObject({ reason: expect.stringMatching(/^MEMBER_REMOVED: /) });
    expect(admission(context(at(smaller)), candidate(3, { knowsUs: true }))).toMatchObject({
      ...refusal,
      proved: false,
    });
    expect(admission(context(at(smaller)), candidate(8))).toMatchObject({ ...refusal, proved: false });
  });
});

describe('who says that this server was expelled', () => {
  it('is heard as a founder that is not known yet when it has the nonce that was said at its address', () => {
    const speaker = candidate(2, { purpose: 'expulsion' });
    expect(admission(context(at(founders)), speaker)).toMatchObject(refusal);
    expect(admission(context(at(founders), { echoes: () => true }), speaker)).toMatchObject({ type: 'admitted' });
    expect(admission(context(at(known), { echoes: () => true }), speaker)).toMatchObject(refusal);
  });
});
