// The declarations of a library as its users get them: what tsc has written, without what is marked @internal, and without the packages
// of the workspace, whose files become files of this one.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

import { Barrels } from './barrels.mjs';
import { exportOf } from './workspace.mjs';

/**
 * Writes every declaration file that can be reached from `entry`.
 *
 * @param {{ members: Map, entry: string, directory: string, peers: readonly string[], shippedAt: (source: string) => string }} options
 * @returns {{ imports: string[], sources: string[], entry: string }} `imports`: packages that stay packages
 */
export function writeDeclarations({ members, entry, directory, peers, shippedAt }) {
  const placeOf = (file) => join(directory, placeIn(members, file));
  const imports = new Set();
  const sources = [];
  const waiting = [entry];
  const seen = new Set(waiting);
  const resolveIn = (file, specifier) => targetOf(members, peers, file, specifier);
  const barrels = new Barrels(resolveIn);
  for (const file of waiting) {
    const place = placeOf(file);
    const pathTo = (target) => {
      if (!seen.has(target)) {
        seen.add(target);
        waiting.push(target);
      }
      const to = relative(dirname(place), placeOf(target)).replace(/\.d\.ts$/, '.js');
      return to.startsWith('.') ? to : `./${to}`;
    };
    const text = publicPart(file, readFileSync(file, 'utf8'), (specifier, name) => {
      const target = resolveIn(file, specifier);
      if (target === undefined) {
        imports.add(specifier);
        return { specifier, name };
      }
      if (name === undefined) return { specifier: pathTo(target), name };
      const declared = barrels.declared(target, name);
      if (declared === undefined) throw new Error(`${file} imports ${name} from "${specifier}", which exports none`);
      return { specifier: pathTo(declared.file), name: declared.name };
    });
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, text);
    sources.push(...writeMap(file, place, shippedAt));
  }
  return { imports: [...imports], sources, entry: placeOf(entry) };
}

/** Where the declarations of a package lie among those of the one that bundles it: `client/index.d.ts`. */
function placeIn(members, file) {
  for (const { directory } of members.values()) {
    const inside = relative(join(directory, 'dist'), file);
    if (!inside.startsWith('..')) return join(basename(directory), inside);
  }
  throw new Error(`${file} is of no package of the workspace`);
}

function targetOf(members, peers, file, specifier) {
  if (peers.includes(specifier)) return undefined;
  const target = specifier.startsWith('.')
    ? resolve(dirname(file), specifier).replace(/\.[jt]s$/, '.d.ts')
    : exportOf(members, specifier, 'types');
  if (target !== undefined && !existsSync(target))
    throw new Error(`${file} imports "${specifier}", which is not built`);
  return target;
}

/**
 * Lines stay where they were, so that the map of the file holds.
 *
 * @param {(specifier: string, name?: string) => { specifier: string, name?: string }} find where a name is declared; without one, a file
 */
function publicPart(file, text, find) {
  const { program, comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0].message}`);
  const edits = internalParts(program, comments, text);
  const removed = [...edits];
  const isRemoved = ({ start, end }) => removed.some((part) => part.start <= start && end <= part.end);
  const used = usedNames(program, isRemoved);
  const replace = ({ start, end }, replacement) => edits.push({ start, end, text: replacement });
  new Visitor({
    ImportDeclaration: (node) => {
      if (node.specifiers.length === 0) return;
      const kept = node.specifiers.filter(({ local }) => used.has(local.name));
      replace(
        node,
        statements('import', node.importKind, kept, ({ imported, local }) => [imported, local], node, find),
      );
    },
    ExportNamedDeclaration: (node) => {
      if (node.source === null) return;
      const names = ({ local, exported }) => [local, exported];
      replace(node, statements('export', node.exportKind, node.specifiers, names, node, find));
    },
    ExportAllDeclaration: ({ source }) => replace(source, quoted(find(source.value).specifier)),
    TSImportType: (node) => {
      if (isRemoved(node)) return;
      const name = node.qualifier?.type === 'Identifier' ? node.qualifier.name : undefined;
      replace(node.source, quoted(find(node.source.value, name).specifier));
    },
  }).visit(program);
  return edited(text, edits);
}

/** An import or export of names, as one statement for each file that declares some of them. */
function statements(keyword, kind, specifiers, namesOf, { source }, find) {
  const byFile = new Map();
  for (const each of specifiers) {
    const [there, here] = namesOf(each).map(({ name }) => name);
    const { specifier, name } = find(source.value, there);
    const type = kind === 'type' || each.importKind === 'type' || each.exportKind === 'type' ? 'type ' : '';
    const written = `${type}${name === here ? here : `${name} as ${here}`}`;
    byFile.set(specifier, [...(byFile.get(specifier) ?? []), written]);
  }
  return [...byFile].map(([from, names]) => `${keyword} { ${names.join(', ')} } from ${quoted(from)};`).join(' ');
}

/** A declaration file without what is internal; lines stay where they were. */
export function withoutInternals(file, text) {
  const { program, comments } = parseSync(file, text);
  return edited(text, internalParts(program, comments, text));
}

/** Declarations and members whose doc comment says @internal; a class keeps a constructor that only its heirs can call. */
function internalParts(program, comments, text) {
  const parts = [];
  const look = (node, replacement = '') => {
    const comment = comments.findLast(({ end }) => end <= node.start);
    if (comment === undefined || !comment.value.startsWith('*') || !comment.value.includes('@internal')) return;
    if (text.slice(comment.end, node.start).trim() === '')
      parts.push({ start: comment.start, end: node.end, text: replacement });
  };
  new Visitor({
    ClassBody: ({ body }) => {
      for (const member of body) look(member, member.kind === 'constructor' ? 'protected constructor();' : '');
    },
    TSInterfaceBody: ({ body }) => body.forEach((member) => look(member)),
    ExportNamedDeclaration: (node) => look(node),
  }).visit(program);
  return parts;
}

function usedNames(program, isRemoved) {
  const names = new Set();
  const imports = program.body.filter(({ type }) => type === 'ImportDeclaration');
  const inImport = ({ start, end }) => imports.some((each) => each.start <= start && end <= each.end);
  new Visitor({
    Identifier: (node) => {
      if (!isRemoved(node) && !inImport(node)) names.add(node.name);
    },
  }).visit(program);
  return names;
}

const quoted = (specifier) => `'${specifier}'`;

function edited(text, edits) {
  const ordered = edits.toSorted((left, right) => right.start - left.start);
  return ordered.reduce((whole, { start, end, text: replacement }) => {
    const lines = whole.slice(start, end).split('\n').length - replacement.split('\n').length;
    return whole.slice(0, start) + replacement + '\n'.repeat(Math.max(0, lines)) + whole.slice(end);
  }, text);
}

function writeMap(file, place, shippedAt) {
  const { version, names, mappings, sources } = JSON.parse(readFileSync(`${file}.map`, 'utf8'));
  const found = sources.map((source) => resolve(dirname(file), source));
  const shipped = found.map((source) => relative(dirname(place), shippedAt(source)));
  writeFileSync(`${place}.map`, JSON.stringify({ version, file: basename(place), sources: shipped, names, mappings }));
  return found;
}
