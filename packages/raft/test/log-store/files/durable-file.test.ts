import { DiskError } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { removeIfThere, replaceFile } from '../../../src/log-store/files/durable-file.ts';
import { alterDisk } from '../support/alter-disk.ts';
import { onMachine } from '../support/machine.ts';

const PATH = '/data/file';

describe('a file that is removed if it is there', () => {
  it('is gone, and need not have been there', () =>
    onMachine(async (machine) => {
      await machine.disk.makeDirectory('/data');
      await machine.createFile(PATH, new Uint8Array(3));
      await removeIfThere(PATH, machine.disk);
      await removeIfThere(PATH, machine.disk);
      expect(machine.files()).toEqual([]);
    }));

  it('is not taken for gone when the disk fails', () =>
    onMachine(async (machine) => {
      for (const failure of [new DiskError('IO', PATH, 'the disk is gone'), new Error('something else')]) {
        const disk = { ...alterDisk(machine.disk, {}), remove: () => Promise.reject(failure) };
        await expect(removeIfThere(PATH, disk)).rejects.toBe(failure);
      }
    }));
});

describe('a file that is replaced', () => {
  it('is the old one or the new one, whole, wherever the power fails', () =>
    onMachine(async (machine) => {
      await machine.disk.makeDirectory('/data');
      await machine.createFile(PATH, new Uint8Array([1]));
      await replaceFile(PATH, new Uint8Array([2, 2]), machine.disk);
      machine.crash();
      expect(machine.bytes(PATH)).toEqual(new Uint8Array([2, 2]));
      expect(machine.durableFiles()).toEqual([PATH]);
    }));
});
