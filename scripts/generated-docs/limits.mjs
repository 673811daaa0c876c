/** Every bound that a constant names: what it is from the built module, what it is for from its doc comment. */

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { code, page, table } from './markdown.mjs';
import { numberOf, parseSource, propertiesOf, firstSentence } from './source.mjs';

const FILE = 'limits.md';
const PACKAGES = [
  'protocol',
  'state',
  'raft',
  'lockd',
  'client',
  'lockctl',
  'fenced-kv',
  'fenced-kv-client',
  'fences/core',
  'fences/conformance',
  'fences/sql',
  'fences/postgresql',
  'fences/mysql',
  'fences/sqlite',
  'fences/redis',
  'fences/manifest',
  'fences/s3',
  'fences/files',
  'fences/http',
  'runtime',
];
/** Of tests and simulation. */
const LEFT_OUT = /^sim\//;
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;
const BOUND = /^(MAX|MIN)_|_(MS|BYTES|SECONDS)$/;
/** Fewer bytes are the place of something in a format. */
const LEAST_BYTES = 1_024;
const KIB = 1024;

/** What happens beyond the limits, written by hand. */
const EXPLAINED = 'docs/limits.md';
/** Options of the SDK. */
const OPTIONS = ['maxQueuedRequests'];

const INTRO = [
  'A limit is a constant with a doc comment. What happens beyond one: [limits.md](../limits.md).',
  'Texts are counted in UTF-16 units. `ms` are milliseconds, KiB and MiB 2^10 and 2^20 bytes.',
].join('\n');

export const limitsPage = {
  file: FILE,
  async render(root) {
    const sections = [];
    for (const name of PACKAGES) sections.push(...(await sectionsOf(root, name)));
    const text = page('Limits', INTRO, ...sections);
    const unknown = namesIn(readFileSync(join(root, EXPLAINED), 'utf8')).filter((name) => !text.includes(code(name)));
    if (unknown.length > 0) throw new Error(`${EXPLAINED} names ${unknown.join(', ')}, which is no limit`);
    return text;
  },
};

function namesIn(text) {
  return [...text.matchAll(/`([A-Z]+(?:_[A-Z]+)+|(?:max|least)[A-Z]\w+)`/g)]
    .map(([, name]) => name)
    .filter((name) => !OPTIONS.includes(name));
}

async function sectionsOf(root, name) {
  const source = join(root, 'packages', name, 'src');
  const sections = [];
  for (const file of filesOf(source)) {
    const rows = await rowsOf(join(root, 'packages', name), file);
    if (rows.length === 0) continue;
    const title = `### [${file}](../../packages/${name}/src/${file})`;
    sections.push(title, table(['limit', 'value', 'meaning'], rows));
  }
  return sections.length === 0 ? [] : [`## packages/${name}`, ...sections];
}

async function rowsOf(directory, file) {
  const path = join(directory, 'src', file);
  const { constants } = parseSource(path);
  const all = file === 'limits.ts';
  const rows = [];
  for (const constant of constants) {
    if (all && constant.name === 'STATE_LIMITS') rows.push(...(await stateLimits(directory, path)));
    if (!CONSTANT.test(constant.name) || !(all || (BOUND.test(constant.name) && constant.doc !== ''))) continue;
    const value = await valueOf(directory, file, constant, constants);
    if (typeof value !== 'number' || (!all && isPlace(constant.name, value))) continue;
    if (constant.doc === '') throw new Error(`${path}: ${constant.name} has no doc comment, and is a limit`);
    rows.push([code(constant.name), written(constant.name, value), firstSentence(constant.doc)]);
  }
  return rows;
}

function isPlace(name, value) {
  return /^(?!MAX_|MIN_).*_BYTES$/.test(name) && value < LEAST_BYTES;
}

/** A private one is calculated: there is no other way to see it. */
async function valueOf(directory, file, { name, exported, init }, constants) {
  if (!exported) return numberOf(init, constants);
  const built = await import(pathToFileURL(join(directory, 'dist', file.replace(/\.ts$/, '.js'))).href);
  return built[name];
}

async function stateLimits(directory, path) {
  const { STATE_LIMITS } = await import(pathToFileURL(join(directory, 'dist/limits.js')).href);
  let shared = '';
  return propertiesOf(path, 'StateLimits').map(({ name, doc }) => {
    shared = doc === '' ? shared : doc;
    return [code(name), written(name, STATE_LIMITS[name]), firstSentence(shared)];
  });
}

/** The unit is in the name. */
function written(name, value) {
  if (name.endsWith('_BYTES_PER_MS')) return `${written('_BYTES', value)} a millisecond`;
  if (/(_MS|Ms)$/.test(name)) return value >= 1_000 && value % 100 === 0 ? `${value / 1_000} s` : `${spaced(value)} ms`;
  if (name.endsWith('_SECONDS')) return `${spaced(value)} s`;
  if (!/bytes/i.test(name)) return spaced(value);
  if (value >= KIB * KIB && value % (KIB * KIB) === 0) return `${value / KIB / KIB} MiB`;
  if (value >= KIB && value % KIB === 0) return `${value / KIB} KiB`;
  return `${spaced(value)} bytes`;
}

function spaced(value) {
  if (value === Number.MAX_SAFE_INTEGER) return '2^53 − 1';
  const exponent = Math.log2(value);
  if (exponent >= 20 && Number.isInteger(exponent)) return `2^${exponent}`;
  return value.toLocaleString('en-US', { maximumFractionDigits: 6 });
}

function filesOf(source) {
  return readdirSync(source, { recursive: true })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !LEFT_OUT.test(file))
    .sort((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1));
}

/** The limits of a package first. */
function rank(file) {
  return file === 'limits.ts' ? 0 : 1;
}
