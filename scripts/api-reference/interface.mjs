// The interface of a library: every exported name with its declaration, its doc comment and those of its members, as the compiler has
// written them to the built declarations.

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';

import { withoutInternals } from '../pack/declarations.mjs';
import { Barrels } from '../pack/barrels.mjs';
import { exportOf, readMembers } from '../pack/workspace.mjs';

/**
 * @typedef {{ name: string, doc: Doc | undefined }} ApiMember
 * @typedef {{ name: string, kind: 'class' | 'interface' | 'type' | 'function' | 'constant', text: string, doc: Doc | undefined,
 *   members: ApiMember[] }} ApiExport
 * @typedef {{ text: string, example: string | undefined }} Doc
 */

/** @returns {ApiExport[]} in the order of their names */
export function readInterface(root, packageName) {
  const members = readMembers(root);
  const target = (file, specifier) =>
    specifier.startsWith('.')
      ? resolve(dirname(file), specifier).replace(/\.[jt]s$/, '.d.ts')
      : exportOf(members, specifier, 'types');
  const barrels = new Barrels(target);
  const index = exportOf(members, packageName, 'types');
  const names = exportedNames(index, target);
  const found = names.map((name) => {
    const declared = barrels.declared(index, name);
    return { ...describe(declared.file, declared.name), name };
  });
  return found.toSorted((left, right) => (left.name.toLowerCase() < right.name.toLowerCase() ? -1 : 1));
}

function exportedNames(file, target) {
  const { program } = parse(file);
  const names = program.body.flatMap((statement) => {
    if (statement.type === 'ExportAllDeclaration') return exportedNames(target(file, statement.source.value), target);
    if (statement.type !== 'ExportNamedDeclaration') return [];
    if (statement.declaration === null) return statement.specifiers.map(({ exported }) => exported.name);
    return namesOf(statement.declaration);
  });
  return [...new Set(names)];
}

const parsed = new Map();

function parse(file) {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const text = withoutInternals(file, readFileSync(file, 'utf8'));
  const { program, comments } = parseSync(file, text);
  const result = { text, program, comments };
  parsed.set(file, result);
  return result;
}

function namesOf(declaration) {
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.map(({ id }) => id.name);
  return [declaration.id.name];
}

function describe(file, name) {
  const source = parse(file);
  const statements = source.program.body.filter((statement) => {
    const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    return declaration?.id?.name === name || declaration?.declarations?.some(({ id }) => id.name === name);
  });
  if (statements.length === 0) throw new Error(`${file} declares no ${name}`);
  const [statement] = statements;
  const declaration = statement.declaration ?? statement;
  const texts = statements.map((each) => source.text.slice(docBefore(source, each)?.start ?? each.start, each.end));
  return {
    kind: KINDS[declaration.type],
    text: texts
      .join('\n')
      .replaceAll(/^ *#private;\n/gm, '')
      .replaceAll(/\n\s*\n/g, '\n'),
    doc: docBefore(source, statement),
    members: membersOf(declaration).flatMap((member) => memberOf(source, member)),
  };
}

const KINDS = {
  ClassDeclaration: 'class',
  TSInterfaceDeclaration: 'interface',
  TSTypeAliasDeclaration: 'type',
  VariableDeclaration: 'constant',
  TSDeclareFunction: 'function',
};

function membersOf({ body, typeAnnotation }) {
  return body?.body ?? (typeAnnotation?.type === 'TSTypeLiteral' ? typeAnnotation.members : []);
}

function memberOf(source, member) {
  const { key, computed, accessibility, kind } = member;
  // Of these nobody has a use: how errors are made, and what only heirs may call.
  if (key?.type === 'PrivateIdentifier' || accessibility !== undefined || kind === 'constructor') return [];
  const written = key === undefined ? 'call' : source.text.slice(key.start, key.end);
  return [{ name: computed ? `[${written}]` : written, doc: docBefore(source, member) }];
}

/** @returns {(Doc & { start: number }) | undefined} */
function docBefore({ text, comments }, node) {
  const comment = comments.findLast(({ end }) => end <= node.start);
  if (comment === undefined || comment.type !== 'Block' || !comment.value.startsWith('*')) return undefined;
  if (text.slice(comment.end, node.start).trim() !== '') return undefined;
  return { ...readDoc(comment.value), start: comment.start };
}

/** A tag begins where a line or a sentence has ended: `@throws X` may follow a sentence on its line. */
function readDoc(comment) {
  const lines = comment
    .slice(1)
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  const [text = '', ...tags] = lines
    .join('\n')
    .trim()
    .split(/(?:^|\n|(?<=\.) )@(?=[a-z]+\b)/);
  const example = tags
    .find((tag) => /^example\b/.test(tag))
    ?.slice('example'.length)
    .trim();
  return { text: text.trim(), example };
}
