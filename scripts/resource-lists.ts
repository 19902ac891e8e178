/**
 * The lists of resources, written by `npm run generate` from the folders (docs/adr/0042). What a file exports
 * to a list is named after the file: `project-tag.outcomes.ts` exports `projectTagOutcomes`.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, posix } from 'node:path';
import { WINGS_OF_SLICES } from './import-table.ts';

const CONTRACT = 'packages/contract/src';
const SERVER = 'packages/server/src';
const HARNESS = 'packages/server/testing';

/** A value that a source file exports. */
interface Exported {
  /** Path from the checkout. */
  file: string;
  name: string;
}

/** The text of each list by its path from the checkout. @throws when a file does not export what its name says */
export function resourceLists(checkout: string): Record<string, string> {
  const paths = (pattern: string) => globSync(pattern, { cwd: checkout }).toSorted();
  const inSlices = (pattern: string) =>
    WINGS_OF_SLICES.flatMap((wing) => paths(`${SERVER}/${wing}/*/${pattern}`));
  const isExported = ({ file, name }: Exported) =>
    new RegExp(`^export const ${name}\\b`, 'm').test(readFileSync(join(checkout, file), 'utf8'));
  const requireExport = (exported: Exported): Exported => {
    if (!isExported(exported)) throw new Error(`${exported.file} must export a constant ${exported.name}`);
    return exported;
  };

  /** A file without operations has only schemas. Under another name they would be left out. */
  const findOperations = (file: string): Exported[] => {
    const found = /^export const (\w*Operations)\b/m.exec(readFileSync(join(checkout, file), 'utf8'))?.[1];
    return found === undefined ? [] : [requireExport({ file, name: `${camelCase(file)}Operations` })];
  };

  const ofResources = paths(`${CONTRACT}/*/*.outcomes.ts`);
  const outcomes = [...paths(`${CONTRACT}/*.outcomes.ts`), ...ofResources];
  const contractFiles = ofResources.flatMap((file) => {
    const files = paths(`${dirname(file)}/*.ts`).filter((each) => !/\.(outcomes|test)\.ts$/.test(each));
    return sortParts(dirname(file), files);
  });
  return {
    [`${CONTRACT}/outcomes.list.ts`]: renderList({
      folder: CONTRACT,
      name: 'outcomeLists',
      entries: outcomes.map((file) => requireExport({ file, name: `${camelCase(file)}Outcomes` })),
    }),
    [`${CONTRACT}/resources.list.ts`]: renderList({
      folder: CONTRACT,
      name: 'operationLists',
      entries: contractFiles.flatMap(findOperations),
      passedOn: contractFiles,
    }),
    [`${SERVER}/main/slices.list.ts`]: renderList({
      folder: `${SERVER}/main`,
      name: 'slices',
      entries: inSlices('index.ts').map((file) => requireExport({ file, name: camelCase(dirname(file)) })),
    }),
    [`${HARNESS}/guards.list.ts`]: renderList({
      folder: HARNESS,
      name: 'guards',
      entries: inSlices('*.guards.ts').map((file) =>
        requireExport({ file, name: `${camelCase(file)}Guards` }),
      ),
    }),
  };
}

/** Puts the file of the resource itself before those of its parts. */
function sortParts(folder: string, files: readonly string[]): string[] {
  const main = `${folder}/${basename(folder)}.ts`;
  return [...files.filter((file) => file === main), ...files.filter((file) => file !== main)];
}

/** `workspace/project-tags/project-tag.guards.ts` → `projectTag` */
function camelCase(path: string): string {
  return basename(path)
    .replace(/\..*$/, '')
    .replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

interface List {
  /** Of the list. */
  folder: string;
  /** The constant that is the list. */
  name: string;
  entries: readonly Exported[];
  /** The files whose exports the list exports too. */
  passedOn?: readonly string[];
}

function renderList({ folder, name, entries, passedOn = [] }: List): string {
  const request = (file: string) => {
    const path = posix.relative(folder, file);
    return path.startsWith('.') ? path : `./${path}`;
  };
  return [
    '// Written by `npm run generate` from the folders of the resources. Do not edit it.',
    ...entries.map((entry) => `import { ${entry.name} } from '${request(entry.file)}';`),
    '',
    ...passedOn.map((file) => `export * from '${request(file)}';`),
    ...(passedOn.length === 0 ? [] : ['']),
    `export const ${name} = [`,
    ...entries.map((entry) => `  ${entry.name},`),
    '] as const;',
    '',
  ].join('\n');
}
