import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageFolders } from '../package-folders.mjs';

const ROOT = join(import.meta.dirname, '../..');
/** One screen. */
const MAX_LINES = 50;
const MAX_LENGTH = 160;

const packages = [...packageFolders(ROOT).map((name) => `packages/${name}`), 'jepsen-lite', 'bench'];
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

describe.each(packages)('the README of %s', (directory) => {
  const file = join(ROOT, directory, 'README.md');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const lines = text.trimEnd().split('\n');
  const words = [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word);
  const paths = words.flatMap((word) => word.split(', ')).map((path) => path.replace(/\/$/, ''));

  it('fits on a screen', () => {
    expect(text).toMatch(/promises/);
    expect(text).toMatch(/Begin/);
    expect(lines.length).toBeLessThanOrEqual(MAX_LINES);
    expect(lines.filter(({ length }) => length > MAX_LENGTH)).toEqual([]);
  });

  it('names every folder of its sources', () => {
    const folders = readdirSync(join(ROOT, directory, 'src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect(folders.map(({ name }) => name).filter((name) => !paths.includes(name))).toEqual([]);
  });

  it('names no file that there is not', () => {
    const named = paths.filter((path) => /^[\w/-]+\.(ts|json)$/.test(path) || /^[a-z-]+(\/[a-z-]+)+$/.test(path));
    const places = ['src', '.'].map((place) => join(ROOT, directory, place));
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((path) => !places.some((place) => existsSync(join(place, path))))).toEqual([]);
  });

  it('links to what there is', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)(#[^)]*)?\)/g)].map(([, target = '']) => target);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((target) => !existsSync(join(ROOT, directory, target)))).toEqual([]);
  });

  it('has commands that name scripts and tests that there are', () => {
    const block = /```sh\n([\s\S]*?)```/.exec(text)?.[1]?.trimEnd().split('\n') ?? [];
    expect(block.length).toBeGreaterThanOrEqual(3);
    const wrong = block.flatMap((line) => {
      const [, script = '', rest = ''] = /^(?:pnpm|npx -y pnpm@12) (\S+)(.*)/.exec(line) ?? [];
      if (script !== 'exec') return scripts[script] === undefined ? [line] : [];
      const targets = rest.split(/\s+/).filter((word) => /^(packages|jepsen-lite|bench)\b/.test(word));
      return targets.length > 0 && targets.every((target) => existsSync(join(ROOT, target))) ? [] : [line];
    });
    expect(wrong).toEqual([]);
  });
});
