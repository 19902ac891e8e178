// `npm run new-resource -- NAME`: makes the skeleton of a resource that projects own: its part of the contract, its
// slice of the server with store, routes, examples, guards and a test, and a migration with its table. It adds the
// resource to each list that must have it. The templates in new-resource/ are the files of a resource called
// "sample thing".
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from './command-line.ts';

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
  const newest = Math.max(...readdirSync(join(checkout, migrations)).map((file) => Number(file.slice(0, 4))));
  return String(newest + 1).padStart(4, '0');
}

/** The lines that each list gets: imports and exports above it, and an entry at its end. Biome sorts the imports. */
const lists: readonly { file: string; above: string[]; entry: string; end: string }[] = [
  {
    file: `${contract}/outcomes.ts`,
    above: ["import { sampleThingOutcomes } from './sample-thing/sample-thing.outcomes.ts';"],
    entry: '  sampleThingOutcomes,',
    end: ']);',
  },
  {
    file: `${contract}/resources.ts`,
    above: [
      "import { sampleThingOperations } from './sample-thing/sample-thing.ts';",
      "export * from './sample-thing/sample-thing.ts';",
    ],
    entry:
      "  { tag: 'Sample things', about: 'Sample things of a project.', operations: sampleThingOperations },",
    end: '];',
  },
  {
    file: `${server}/main/slices.ts`,
    above: ["import { sampleThings } from '../workspace/sample-things/index.ts';"],
    entry: '  sampleThings,',
    end: '];',
  },
  {
    file: `${server}/testing/guards.ts`,
    above: ["import { sampleThingGuards } from '../workspace/sample-things/sample-thing.guards.ts';"],
    entry: '  sampleThingGuards,',
    end: '];',
  },
];

function addToList({ file, above, entry, end }: (typeof lists)[number], names: Names): void {
  const path = join(checkout, file);
  const lines = readFileSync(path, 'utf8').split('\n');
  for (const line of above) {
    const start = line.slice(0, line.indexOf(' '));
    const last = lines.findLastIndex((each) => each.startsWith(`${start} `) && each.includes(" from '"));
    lines.splice(last + 1, 0, fill(line, names));
  }
  const closing = lines.indexOf(end);
  if (closing < 0) throw new Error(`${file} has no line "${end}" that ends its list`);
  lines.splice(closing, 0, fill(entry, names));
  writeFileSync(path, lines.join('\n'));
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
  const given = positionals.length === 1 ? positionals[0] : undefined;
  const one = given ?? refuse('one name is needed, such as project-tag');
  const names = { one, many: values.plural ?? `${one}s` };
  const fault = faultOf(names);
  if (fault !== undefined) refuse(fault);
  const files = newFiles(names);
  for (const [path, template] of files) {
    mkdirSync(dirname(join(checkout, path)), { recursive: true });
    const text = readFileSync(join(checkout, 'scripts/new-resource', `${template}.txt`), 'utf8');
    writeFileSync(join(checkout, path), fill(text, names));
  }
  for (const list of lists) addToList(list, names);
  const made = files.map(([path]) => path);
  const changed = lists.map(({ file }) => file);
  format([...made, ...changed].filter((path) => path.endsWith('.ts')));
  console.log(`made:\n  ${made.join('\n  ')}\nchanged:\n  ${changed.join('\n  ')}`);
  console.log(`Edit them, then run: npm run generate, npm test -- ${one}, npm run check`);
}

main();
