import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

describe('the jepsen command', () => {
  it.each([
    [['sim', '--seeds', 'x'], 2, /give one seed, or a first and a last one, as 1\.\.500/],
    [['sim', '--nope'], 2, /unknown option '--nope'/],
    [['nope'], 2, /unknown command 'nope'/],
    [['replay', '/nowhere.json'], 2, /\/nowhere\.json/],
    [['report', '/nowhere'], 2, /\/nowhere/],
    [['explore', '--bounds', 'nope'], 2, /there is none of that name; there are elections, /],
    [['explore', '--planted', 'nope'], 2, /there is none of that name; there are quorum-off-by-one, /],
    [['explore', '--states', '0'], 2, /must be an integer from 1/],
    [['check', '--model', 'register', '/nowhere.jsonl'], 3, /\/nowhere\.jsonl/],
    [['check', '--model', 'nope', 'x'], 3, /Allowed choices are register, cas-register, mutex, /],
    [['check', '--model', 'semaphore', 'x'], 3, /a semaphore needs --permits/],
    [['run', '--workload', 'poker'], 3, /there is no workload "poker"; there are registers, critical-sections, /],
    [['run', '--nemesis', 'kill,luck'], 3, /there is no nemesis "luck"; there are crash, kill, /],
    [['run', '--servers', '4'], 3, /give 3 or 5/],
    [['run', '--time', '15', '--nemesis', 'kill,stop,pause,cut,break,loss,dials,crash,clog,partition'], 3, /too short/],
    [['run', '--out', fileURLToPath(new URL('.', import.meta.url))], 3, /holds other files than those of a run/],
    [['mutants', '--only', 'nope'], 2, /there is no mutant "nope" that this hunts; name some of vote-not-persisted, /],
    [['list'], 0, /^$/],
    [['--help'], 0, /^$/],
  ])('answers %j with exit code %i', (args, code, message) => {
    const { status, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
    expect(stderr).toMatch(message);
    expect(status).toBe(code);
  });
});

describe('jepsen check', () => {
  const write = '{"process":0,"type":"invoke","f":"write","value":1}\n{"process":0,"type":"ok","f":"write"}\n';
  const read = (value: number): string =>
    `{"process":1,"type":"invoke","f":"read"}\n{"process":1,"type":"ok","f":"read","value":${value}}\n`;

  it.each([
    ['valid', write + read(1), 0],
    ['invalid', write + read(2), 1],
    ['unknown', '', 2],
  ])('says that a history is %s, and ends with that exit code', (verdict, input, code) => {
    const result = spawnSync(process.execPath, [program, 'check', '--model', 'register', '-'], {
      input,
      encoding: 'utf8',
    });
    expect(result.stdout.split('\n')[0]).toBe(verdict);
    expect(result.status).toBe(code);
  });

  it('prints the line of what it cannot read', () => {
    const input = `${write}{"process":1,"type":"invoke","f":"lock"}`;
    const result = spawnSync(process.execPath, [program, 'check', '--model', 'register', '-'], {
      input,
      encoding: 'utf8',
    });
    expect(result.stderr).toBe('-: history, line 3: the model register has no operation "lock"; it has read, write\n');
    expect(result.status).toBe(3);
  });
});
