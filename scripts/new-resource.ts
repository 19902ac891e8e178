// `npm run new-resource -- NAME`: makes the skeleton of a resource that projects own: its part of the contract, its
// slice of the server with store, routes, examples, guards and a test, and a migration with its table. It adds the
// heading of the resource, and updates the generated lists. The templates in new-resource/ are the files of a
// resource called "sample thing".
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from './command-line.ts';
import { resourceLists } from './resource-lists.ts';

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const contract = 'packages/contract/src';
const server = 'packages/server/src';
const migrations = 'packages/server/migrations';
const nameForm = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
/** The reserved words of PostgreSQL, which cannot name a table. */
const reservedWords = `
  all analyse analyze and any array as asc asymmetric authorization binary both case cast check
  collate collation column concurrently constraint create cross current_catalog current_date
  current_role current_schema current_time current_timestamp current_user default deferrable desc
  distinct do else end except false fetch for foreign freeze from full grant group having ilike in
  initially inner intersect into is isnull join lateral leading left like limit localtime
  localtimestamp natural not notnull null offset on only or order outer overlaps placing primary
  references returning right select session_user similar some symmetric system_user table tablesample
  then to trailing true union unique user using variadic verbose when where window with`.split(/\s+/);

interface Names {
  one: string;
  many: string;
}

/** The text of a template, with the resource's name in place of "sample thing", in the same spelling. */
function fill(template: string, { one, many }: Names): string {
  const article = /^[aeiou]/.test(one) ? 'an' : 'a';
  return template
    .replaceAll(/\b([Aa]) (?=sample thing\b)/g, (_, a: string) => `${a}${article.slice(1)} `)
    .replaceAll(/[Ss]ample(?:[-_ ]t|T)hings?/g, (found) => spell(found.endsWith('s') ? many : one, found));
}

/** A name with hyphens in the spelling of an example. */
function spell(name: string, example: string): string {
  const separator = /[-_ ]/.exec(example)?.[0];
  const spelled =
    separator === undefined
      ? name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
      : name.replaceAll('-', separator);
  return example.startsWith('S') ? capital(spelled) : spelled;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The path of each new file, by its template. */
function newFiles(names: Names): [path: string, template: string][] {
  const ofContract = `${contract}/sample-thing/sample-thing`;
  const slice = `${server}/workspace/sample-things`;
  const ofSlice = ['routes', 'store', 'examples', 'guards', 'test'];
  const paths: [string, string][] = [
    [`${ofContract}.ts`, 'contract.ts'],
    [`${ofContract}.outcomes.ts`, 'outcomes.ts'],
    ...ofSlice.map((role): [string, string] => [`${slice}/sample-thing.${role}.ts`, `${role}.ts`]),
    [`${slice}/index.ts`, 'index.ts'],
    [`${migrations}/${nextMigration()}_sample_things.sql`, 'migration.sql'],
  ];
  return paths.map(([path, template]) => [fill(path, names), template]);
}

function nextMigration(): string {
  const files = readdirSync(join(checkout, migrations)).filter((file) => file.endsWith('.sql'));
  const newest = Math.max(...files.map((file) => Number(file.slice(0, 4))));
  return String(newest + 1).padStart(4, '0');
}

/** The one file outside of the resource's folders that is edited: it gets a line at the end of its list. */
const headings = { file: `${contract}/headings.ts`, end: '] as const satisfies readonly Heading[];' };
const headingOfTemplate = "  { tag: 'Sample things', about: 'Sample things of a project.' },";

function addHeading(names: Names): void {
  const path = join(checkout, headings.file);
  const lines = readFileSync(path, 'utf8').split('\n');
  const closing = lines.indexOf(headings.end);
  if (closing < 0) throw new Error(`${headings.file} has no line "${headings.end}" that ends its list`);
  lines.splice(closing, 0, fill(headingOfTemplate, names));
  writeFileSync(path, lines.join('\n'));
}

/** @returns the paths of those that changed */
function updateLists(): string[] {
  const lists = Object.entries(resourceLists(checkout));
  const changed = lists.filter(([path, text]) => readFileSync(join(checkout, path), 'utf8') !== text);
  for (const [path, text] of changed) writeFileSync(join(checkout, path), text);
  return changed.map(([path]) => path);
}

/** Why there can be no resource of this name; undefined if there can. */
function faultOf({ one, many }: Names): string | undefined {
  for (const name of [one, many])
    if (!nameForm.test(name))
      return `"${name}" is not a name in lower case with hyphens; use a name such as project-tag`;
  if (one === many) return `"${one}" is its own plural; name another one with --plural`;
  const table = one.replaceAll('-', '_');
  if (reservedWords.includes(table))
    return `"${table}" is a word of SQL and cannot name a table; use two words`;
  const taken = [`${contract}/${one}`, ...globSync(`${server}/*/${many}`, { cwd: checkout })];
  for (const folder of taken) if (existsSync(join(checkout, folder))) return `${folder} already exists`;
  const sources = globSync(`${contract}/**/*.ts`, { cwd: checkout }).map((file) =>
    readFileSync(join(checkout, file), 'utf8'),
  );
  const type = spell(one, 'SampleThing');
  if (sources.some((text) => new RegExp(`export (?:const|type|interface) ${type}(?:Name)?\\b`).test(text)))
    return `the contract already exports "${type}" or "${type}Name"; choose another name`;
  if (sources.some((text) => text.includes(`/v1/projects/{projectId}/${many}'`)))
    return `the path /v1/projects/{projectId}/${many} is taken; choose another name`;
  const migrated = globSync(`${migrations}/*.sql`, { cwd: checkout }).find((file) =>
    readFileSync(join(checkout, file), 'utf8').includes(`create table ${table} (`),
  );
  return migrated === undefined ? undefined : `${migrated} already has the table "${table}"`;
}

function format(files: readonly string[]): void {
  const biome = join(checkout, 'node_modules/@biomejs/biome/bin/biome');
  const { status } = spawnSync(process.execPath, [biome, 'check', '--write', ...files], {
    cwd: checkout,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the new files could not be formatted');
}

function main(): void {
  const usage = 'npm run new-resource -- NAME [--plural NAMES]';
  const { positionals, values, refuse } = readCommandLine(usage, { plural: { type: 'string' } });
  const input = positionals.length === 1 ? positionals[0] : undefined;
  const one = input ?? refuse('one name is needed, such as project-tag');
  const names = { one, many: values.plural ?? `${one}s` };
  const fault = faultOf(names);
  if (fault !== undefined) refuse(fault);
  const files = newFiles(names);
  for (const [path, template] of files) {
    mkdirSync(dirname(join(checkout, path)), { recursive: true });
    const text = readFileSync(join(checkout, 'scripts/new-resource', `${template}.txt`), 'utf8');
    writeFileSync(join(checkout, path), fill(text, names));
  }
  addHeading(names);
  const made = files.map(([path]) => path);
  format([...made, headings.file].filter((path) => path.endsWith('.ts')));
  const sections = { made, changed: [headings.file], generated: updateLists() };
  for (const [what, paths] of Object.entries(sections)) console.log(`${what}:\n  ${paths.join('\n  ')}`);
  console.log(`Edit them, then run: npm run generate, npm test -- ${one}, npm run check`);
}

main();
