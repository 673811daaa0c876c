// The rules of the house, checked on manifests and on every import. Each problem says what is wrong, where, and what to do.

import { builtinModules } from 'node:module';
import { posix } from 'node:path';

import { circleProblems } from './circles.mjs';
import { crowdProblems } from './crowds.mjs';
import { importsOf } from './imports.mjs';
import { FOLDER_FLOORS, HIGHEST_SERVING_FLOOR, PACKAGES, PRIVATE_FOLDERS, PURE_FOLDERS, SIMULATION } from './table.mjs';
import { readWorkspace } from './workspace.mjs';

// What a package exports for the tests of others; its published files are without it.
const TESTS = './test/';
const SCOPE = '@holdfast/';
const builtins = new Set(builtinModules);

/** @returns {string[]} problems, one line each */
export function checkFloors(root) {
  const packages = readWorkspace(root);
  const byName = new Map(packages.map((member) => [member.name, member]));
  return packages.flatMap((member) => {
    if (PACKAGES[member.name] === undefined) {
      return [`${member.folder}/package.json: ${member.name} has no floor; give it one in scripts/floors/table.mjs`];
    }
    const ofFiles = member.files.flatMap((file) => fileProblems(member, file, byName));
    return [...manifestProblems(member, byName), ...ofFiles, ...crowdProblems(member), ...circleProblems(member)];
  });
}

function manifestProblems(member, byName) {
  const problems = [];
  const at = `${member.folder}/package.json`;
  for (const name of Object.keys(member.dependencies).filter(isWorkspace)) {
    const refusal = floorRefusal(member.name, name, true);
    if (refusal !== undefined) problems.push(`${at}: ${refusal}`);
    const target = byName.get(name)?.folder ?? `packages/${name.slice(SCOPE.length)}`;
    const reference = posix.relative(member.folder, target);
    if (
      member.references !== undefined &&
      member.folder.startsWith('packages/') &&
      !member.references.includes(reference)
    ) {
      problems.push(`${member.folder}/tsconfig.json: depends on ${name} without a reference to "${reference}"; add it`);
    }
  }
  for (const name of Object.keys(member.devDependencies).filter(isWorkspace)) {
    const refusal = floorRefusal(member.name, name, false);
    if (refusal !== undefined) problems.push(`${at}: ${refusal}`);
  }
  return problems;
}

function fileProblems(member, file, byName) {
  const production = file.path.startsWith(`${member.folder}/src/`);
  return importsOf(file.path, file.text).flatMap(({ specifier, line, lazy }) => {
    const refusal = specifier.startsWith('.')
      ? relativeProblem(member, file, specifier, production)
      : (purityProblem(file, specifier) ?? packageProblem(member, specifier, production, byName));
    const problem = refusal ?? (lazy && production ? lazyProblem(member, specifier) : undefined);
    return problem === undefined ? [] : [`${file.path}:${line}: ${problem}`];
  });
}

// A module that a request is the first to need may be gone, or not to be read for want of descriptors, when it comes.
function lazyProblem(member, specifier) {
  if (PACKAGES[member.name].floor > HIGHEST_SERVING_FLOOR) return undefined;
  return `loads "${specifier}" while it runs; a server loads everything at its start: import it at the top`;
}

function relativeProblem(member, file, specifier, production) {
  const target = posix.join(posix.dirname(file.path), specifier);
  if (!inside(target, member.folder))
    return `imports "${specifier}" of another package; import the package by its name`;
  if (production && !inside(target, `${member.folder}/src`)) return `imports "${specifier}" from outside src`;
  const pure = PURE_FOLDERS.find(({ folder }) => inside(file.path, folder));
  if (pure !== undefined && !inside(target, pure.folder)) {
    return `${pure.folder} is pure and imports nothing outside itself, but imports "${specifier}"`;
  }
  if (production && inside(target, SIMULATION.folder) && !inside(file.path, SIMULATION.folder)) {
    return `production code imports the simulation "${specifier}"; only tests may`;
  }
  return production ? (privateProblem(file.path, target) ?? folderProblem(file.path, target)) : undefined;
}

function privateProblem(path, target) {
  const hidden = PRIVATE_FOLDERS.find(({ folder }) => inside(target, folder) && !inside(path, folder));
  if (hidden === undefined || hidden.importers.some((folder) => inside(path, folder))) return undefined;
  return `imports from ${hidden.folder}, which only ${hidden.importers.join(', ')} may (scripts/floors/table.mjs)`;
}

// Floors within a package: only what is in the upper folder is asked where its import lies.
function folderProblem(path, target) {
  const upper = FOLDER_FLOORS.find(({ folder }) => inside(path, folder) && inside(target, folder));
  if (upper === undefined) return undefined;
  const [from, to] = [path, target].map((file) => posix.relative(upper.folder, file).split('/'));
  if (from.length === 1) return undefined;
  const [own, other] = [from[0], to.length === 1 ? undefined : to[0]];
  const floorOf = (name) => upper.floors.findIndex((floor) => floor.includes(name));
  if (floorOf(own) < 0) return `${upper.folder}/${own} has no floor; give it one in scripts/floors/table.mjs`;
  if (own === other || (other !== undefined && floorOf(other) >= 0 && floorOf(other) < floorOf(own))) return undefined;
  const what = other === undefined ? `a file of ${upper.folder} itself` : `${other}/`;
  return `${upper.folder}/${own} may not import ${what}: only lower folders (scripts/floors/table.mjs)`;
}

function purityProblem(file, specifier) {
  const pure = PURE_FOLDERS.find(({ folder }) => inside(file.path, folder));
  if (pure === undefined || pure.packages.includes(specifier)) return undefined;
  const allowed = pure.packages.length === 0 ? 'nothing outside itself' : `only ${pure.packages.join(', ')}`;
  return `${pure.folder} is pure and imports ${allowed}, but imports "${specifier}"`;
}

function packageProblem(member, specifier, production, byName) {
  if (specifier.startsWith('node:') || builtins.has(specifier)) return undefined;
  const name = packageName(specifier);
  const own = name === member.name;
  if (!isWorkspace(name)) {
    const declared = name in member.dependencies || (!production && isAvailableToTests(member, name));
    return declared
      ? undefined
      : `imports "${name}", which ${member.folder}/package.json does not declare; add it there`;
  }
  if (!own) {
    const refusal = floorRefusal(member.name, name, production);
    if (refusal !== undefined) return refusal;
    if (!(name in member.dependencies) && (production || !(name in member.devDependencies))) {
      return `imports "${name}", which ${member.folder}/package.json does not declare; add it there`;
    }
  }
  const target = byName.get(name);
  if (target === undefined) return `imports "${name}", which is not in the workspace`;
  const subpath = `.${specifier.slice(name.length)}`;
  if (!(subpath in target.exports)) return `imports "${specifier}", which ${name} does not export`;
  if (production && subpath.startsWith(TESTS)) return `production code imports "${specifier}"; only tests may`;
  if (production && specifier === SIMULATION.specifier && PACKAGES[member.name].simulation !== true) {
    return `production code imports "${specifier}"; only tests may`;
  }
  return undefined;
}

// Development tools are declared once, at the root.
function isAvailableToTests(member, name) {
  return name in member.devDependencies || ['vitest', 'fast-check', 'ws'].includes(name);
}

function floorRefusal(from, to, production) {
  const importer = PACKAGES[from];
  const target = PACKAGES[to];
  if (target === undefined) return `imports ${to}, which has no floor; give it one in scripts/floors/table.mjs`;
  if (target.floor >= importer.floor) {
    return `${from} (floor ${importer.floor}) may not import ${to} (floor ${target.floor}): only lower floors`;
  }
  if (production && importer.only !== undefined && !importer.only.includes(to)) {
    return `${from} may not import ${to}: of the workspace only ${importer.only.join(', ')}`;
  }
  return undefined;
}

function packageName(specifier) {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

function isWorkspace(name) {
  return name.startsWith(SCOPE);
}

function inside(path, folder) {
  return path === folder || path.startsWith(`${folder}/`);
}
