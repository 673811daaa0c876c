import { describe, expect, it } from 'vitest';
import { PartHooks } from '../../src/machine/part-hooks.ts';
import type { ServerPart } from '../../src/machine/server-part.ts';
import { decodeEntryHeader, encodeEntry } from '@holdfast/state';
import { CommandType } from '@holdfast/protocol';

function listening() {
  const heard: string[] = [];
  const part = (name: string): ServerPart => ({
    endOfTurn: () => heard.push(`${name} ends the turn`),
    flush: () => heard.push(`${name} flushes`),
    stop: () => heard.push(`${name} stops`),
  });
  return { heard, part };
}

describe('the hooks of the parts of a server', () => {
  it('are called in the order of the list, and nothing leaves before every part has ended its turn', () => {
    const { heard, part } = listening();
    const hooks = new PartHooks();
    hooks.install([part('one'), {}, part('two')]);
    hooks.endOfTurn();
    expect(heard).toEqual(['one ends the turn', 'two ends the turn', 'one flushes', 'two flushes']);
  });

  it('stop who was there first last', () => {
    const { heard, part } = listening();
    const hooks = new PartHooks();
    hooks.install([part('one'), part('two')]);
    hooks.stop();
    expect(heard).toEqual(['two stops', 'one stops']);
  });

  it('keep a part its own state', () => {
    class Counter implements ServerPart {
      count = 0;
      contactLost(): void {
        this.count += 1;
      }
    }
    const counter = new Counter();
    const hooks = new PartHooks();
    hooks.install([counter]);
    hooks.contactLost();
    expect(counter.count).toBe(1);
  });

  it('tell nobody of a refused entry behind the part that had submitted it', () => {
    const header = { command: CommandType.attach, session: 0, generation: 0, number: 7, ackedUpTo: 0 };
    const asked: string[] = [];
    const part = (name: string, takes: boolean): ServerPart => ({
      entryRefused: (entry, { number }) => {
        expect([number, decodeEntryHeader(entry).number]).toEqual([7, 7]);
        asked.push(name);
        return takes;
      },
    });
    const hooks = new PartHooks();
    hooks.install([part('one', false), part('two', true), part('three', true)]);
    hooks.entryRefused(encodeEntry(header, new Uint8Array(1)), 'NO_LEADER');
    expect(asked).toEqual(['one', 'two']);
  });
});
