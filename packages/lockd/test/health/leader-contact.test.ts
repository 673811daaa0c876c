import { describe, expect, it } from 'vitest';
import { LeaderContact } from '../../src/health/leader-contact.ts';
import { ManualClock } from '../support/manual-clock.ts';

function setup() {
  const clock = new ManualClock();
  let lost = 0;
  const contact = new LeaderContact({ electionTimeoutMs: 1_000 }, () => (lost += 1), clock);
  return { clock, contact, lost: () => lost };
}

describe('a server that knows no leader', () => {
  it('serves for two election timeouts, also after its start', () => {
    const { clock, contact, lost } = setup();
    clock.advance(1_990);
    expect(contact.serving).toBe(true);
    clock.advance(20);
    expect(contact.serving).toBe(false);
    expect(lost()).toBe(1);
  });

  it('counts anew when a leader was known in between', () => {
    const { clock, contact, lost } = setup();
    clock.advance(1_500);
    contact.leaderKnown(true);
    clock.advance(60_000);
    contact.leaderKnown(false);
    clock.advance(1_500);
    expect(contact.serving).toBe(true);
    clock.advance(600);
    expect(contact.serving).toBe(false);
    expect(lost()).toBe(1);
  });

  it('is of no use at once when it has lost its quorum, and says so once', () => {
    const { clock, contact, lost } = setup();
    contact.leaderKnown(true);
    contact.loseNow();
    expect(contact.serving).toBe(true);
    contact.leaderKnown(false);
    contact.loseNow();
    contact.loseNow();
    clock.advance(60_000);
    expect(contact.serving).toBe(false);
    expect(lost()).toBe(1);
    contact.leaderKnown(true);
    expect(contact.serving).toBe(true);
  });

  it('serves again as soon as it knows one', () => {
    const { clock, contact } = setup();
    clock.advance(3_000);
    contact.leaderKnown(true);
    expect(contact.serving).toBe(true);
  });
});
