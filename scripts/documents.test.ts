/** Checks the documents against the checkout: links, commands, paths, settings and their defaults, and wording. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
const documents = globSync(['*.md', 'docs/**/*.md', 'examples/*.md'], { cwd: checkout });

/** The anchors of a document's headings, as the platforms that show Markdown make them. */
function anchorsOf(path: string): Set<string> {
  const headings = prose(read(path)).matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    [...headings].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

const prose = (text: string) => text.replaceAll(/^```[\s\S]*?^```$/gm, '');

test('every link from one document to another leads somewhere', () => {
  const broken: string[] = [];
  for (const document of documents) {
    for (const [, target = ''] of prose(read(document)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? document : relative(checkout, join(checkout, dirname(document), path));
      const leads = existsSync(join(checkout, file)) && (anchor === undefined || anchorsOf(file).has(anchor));
      if (!leads) broken.push(`${document}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('no comment is wider than 120 columns', () => {
  const patterns = [
    '{packages,scripts,test,bench}/**/*.{ts,js,mjs,cjs,py}',
    // The others were applied, and stay as they are.
    'packages/server/migrations/functions/*.sql',
  ];
  const files = globSync(patterns, { cwd: checkout, exclude: ['**/node_modules/**'] });
  const wide = files.flatMap((path) =>
    read(path)
      .split('\n')
      .flatMap((line, index) =>
        line.length > 120 && /^ *(?:\/\*\*|\*|\/\/|--|#) /.test(line) ? [`${path}:${index + 1}`] : [],
      ),
  );
  assert.ok(files.length > 1_000);
  assert.deepEqual(wide, []);
});

test('comments and documents name only documents that the repository has', () => {
  const pattern = '{packages,scripts,test,bench}/**/*.{ts,mjs,cjs}';
  const code = globSync(pattern, { cwd: checkout, exclude: ['**/node_modules/**'] });
  const known = new Set(
    [...documents, ...globSync('packages/**/*.md', { cwd: checkout })].map((path) => basename(path)),
  );
  const listUnknown = (path: string, text: string) =>
    [...text.matchAll(/(?<=[\s(`])([a-z][\w-]*\.md)\b|design law \d/g)]
      .map(([found]) => found)
      .filter((found) => !known.has(found))
      .map((found) => `${path}: ${found}`);
  const unknown = [
    ...code.flatMap((path) =>
      listUnknown(path, (read(path).match(/^ *(?:\/\*\*|\*|\/\/).*$/gm) ?? []).join('\n')),
    ),
    ...documents.flatMap((path) => listUnknown(path, prose(read(path)))),
  ];
  assert.deepEqual(unknown, []);
});

test('every path of the API is written with its /dpc', () => {
  const bare = documents.flatMap((document) =>
    [...prose(read(document)).matchAll(/(?<![\w./])\/v1\/[\w{}/-]*/g)].map(
      ([path]) => `${document}: ${path}`,
    ),
  );
  assert.deepEqual(bare, []);
});

test('every npm command that a document names exists', () => {
  const known: readonly string[] = Object.keys(manifest.scripts);
  const unknown = documents.flatMap((document) =>
    [...read(document).matchAll(/\bnpm run (?:--\w+ )*([a-z-]+)/g)]
      .map(([, name = '']) => name)
      .filter((name) => !known.includes(name))
      .map((name) => `${document}: npm run ${name}`),
  );
  assert.deepEqual(unknown, []);
});

/** Folders from which documents name paths. */
const pathRoots = [
  '.',
  ...globSync(['packages/*/src', 'packages/server/src/main', 'packages/server/src/runtime/ai-tasks'], {
    cwd: checkout,
  }),
];
const sourceNames = new Set(
  globSync(['packages/**/*.ts', 'scripts/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'], {
    cwd: checkout,
    exclude: (path) => path.endsWith('node_modules'),
  }).map((path) => basename(path)),
);

function isSource(path: string): boolean {
  return path.includes('/')
    ? pathRoots.some((root) => existsSync(join(checkout, root, path)))
    : sourceNames.has(path);
}

/** An ADR that a later one replaced describes files of its time. */
const isSuperseded = (document: string) =>
  document.includes('adr/') && /^\*\*Superseded/m.test(read(document));

test('every source file that a document names exists', () => {
  const missing = documents
    .filter((document) => !isSuperseded(document))
    .flatMap((document) =>
      [...prose(read(document)).matchAll(/`([\w./-]+\.ts)`/g)]
        .map(([, path = '']) => path)
        .filter((path) => !isSource(path))
        .map((path) => `${document}: ${path}`),
    );
  assert.deepEqual(missing, []);
});

/** Phrases that stand for an unclear sentence, and what to write instead. */
const stockPhrases: readonly [RegExp, string][] = [
  [/\bwho(?:so)?ever\b/gi, 'name the person or the program'],
  [
    /\b(?:to|for|by|from|of) who (?:has|accepts|takes|reads|wants|asks)\b/gi,
    'name the person or the program',
  ],
  [/\bnobody(?:'s)?\b/gi, 'say what is missing'],
  [/\b(?:is|are|was|were|be) told\b/gi, 'receives, is reported, is logged'],
  [/\bheard (?:of|before|since)\b/gi, 'no heartbeat'],
  [/\bof one's own\b/gi, 'your own'],
  [/\banew\b/gi, 'again'],
  [/\bhad from\b/gi, 'comes from'],
  [/\bin place of\b/gi, 'instead of'],
  [/\bin silence\b/gi, 'silently'],
  [/\bmend(?:ed)?\b/gi, 'fix'],
  [/\bso (?:many|long)\b(?! as)/gi, 'say how many, or how long'],
  [/\bnow and then\b/gi, 'periodically'],
  [/\bhas it that\b|\bcame to be\b|\bit came to\b/gi, 'say what happens'],
];

/** Text without code, which may quote a message. */
const wordsIn = (text: string) =>
  prose(text)
    .replaceAll(/`[^`]*`/g, '')
    .replaceAll(/\s+/g, ' ');

test('no document has a phrase that hides who does what', () => {
  const found = documents
    .filter((document) => document !== 'docs/permissions.md')
    .flatMap((document) => {
      const text = wordsIn(read(document));
      return stockPhrases.flatMap(([phrase, instead]) =>
        [...text.matchAll(phrase)].map(([match]) => `${document}: "${match}"; write: ${instead}`),
      );
    });
  assert.deepEqual(found, []);
});

const settingsIn = (text: string): string[] =>
  [...text.matchAll(/\b(?:HEADGATE_[A-Z_]*[A-Z]|DATABASE_URL)\b/g)].map(([name]) => name);
const sources = [
  'packages/server/src/main/ai-settings.ts',
  'packages/server/src/main/config.ts',
  'packages/server/src/main/git-settings.ts',
  'packages/server/src/main/mail-settings.ts',
  'packages/agent/src/config.ts',
  'packages/agent/src/scripts/script-settings.ts',
];
const configuration = 'docs/configuration.md';

/** The first two cells of each row of the tables: settings, and their defaults in the same order. */
const rows = [...read(configuration).matchAll(/^\| (`[^|]*) \| ([^|]*) \|/gm)].map(
  ([, names = '', presets = '']) => ({
    names: settingsIn(names),
    presets: presets.split(', '),
  }),
);

test('configuration.md lists every setting that is read, and no other', () => {
  const used = new Set(sources.flatMap((source) => settingsIn(read(source))));
  const listed = new Set(rows.flatMap(({ names }) => names));
  assert.deepEqual([...listed].toSorted(), [...used].toSorted());
});

test('configuration.md gives the defaults of numbers as they are', () => {
  const preset = /integer\w*\(\s*'([A-Z_]+)',\s*([\d_]+)/g;
  let compared = 0;
  for (const [, name = '', value = ''] of sources.flatMap((source) => [...read(source).matchAll(preset)])) {
    const row = rows.find(({ names }) => names.includes(name)) ?? assert.fail(name);
    const cell = row.presets[row.presets.length === 1 ? 0 : row.names.indexOf(name)];
    assert.equal(cell, `\`${value.replaceAll('_', '')}\``, name);
    compared++;
  }
  assert.ok(compared > 15);
});

test('every setting that another document names is a setting', () => {
  const listed = new Set(rows.flatMap(({ names }) => names));
  const elsewhere = documents.filter((document) => document !== configuration && !document.includes('adr/'));
  const unknown = elsewhere.flatMap((document) =>
    settingsIn(read(document))
      .filter((name) => !listed.has(name))
      .map((name) => `${document}: ${name}`),
  );
  assert.deepEqual(unknown, []);
});
