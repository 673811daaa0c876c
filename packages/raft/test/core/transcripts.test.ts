import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { transcribe } from './support/transcript/transcript.ts';

const DIRECTORY = join(import.meta.dirname, 'transcripts');
const NAMES = readdirSync(DIRECTORY).map((file) => basename(file, '.txt'));

describe('the transcript of a named case', () => {
  it.each(NAMES)('is what the core does, to the letter [transcript %s]', async (name) => {
    const path = join(DIRECTORY, `${name}.txt`);
    await expect(transcribe(readFileSync(path, 'utf8'))).toMatchFileSnapshot(path);
  });
});

describe('a transcript', () => {
  it('keeps comments and commands, and says anew what they lead to', () => {
    const text = '# why\n\nservers 1\n    something else\ncampaign 1\n    1 sleeps\n';
    expect(transcribe(text)).toBe(
      [
        '# why',
        '',
        'servers 1',
        'campaign 1',
        '    1 begins write 1: term 1, vote 1',
        '    1 is candidate in term 1, vote for 1, log [], commit 0',
        '',
      ].join('\n'),
    );
  });

  it('says quietly only what became of the servers, and aloud that nothing followed', () => {
    expect(transcribe('servers 2\nquietly elect 1 by 2\nwait 2 1\n')).toBe(
      [
        'servers 2',
        'quietly elect 1 by 2',
        '    1 is leader in term 1, log [1·1], on disk [], commit 0',
        '    2 is follower in term 1, vote for 1, log [], commit 0',
        'wait 2 1',
        '    nothing follows',
        '',
      ].join('\n'),
    );
  });

  it.each([
    ['servers 3\npersist 1', 'line 2, "persist 1": server 1 has no write under way'],
    ['servers 3\n\ndeliver 1>2', 'line 3, "deliver 1>2": nothing is under way from 1 to 2'],
    ['servers 3\ncampaign 4', 'line 2, "campaign 4": there is no server 4'],
    ['servers 3\ncrash 1\npropose 1 x', 'line 3, "propose 1 x": server 1 is down'],
    ['servers 3\nservers 2', 'line 2, "servers 2": the servers are there already'],
    ['campaign 1', 'line 1, "campaign 1": say which servers there are first'],
    ['servers 3\nsleep 1', 'line 2, "sleep 1": no such command; there are'],
  ])('that can not be played says where: %j', (text, error) => {
    expect(() => transcribe(text)).toThrow(new SyntaxError(error).message);
  });
});
