import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSource, violations } from './import-table.ts';

/** What is found in a tree of these files. */
function found(files: Record<string, string>): string[] {
  return violations(Object.entries(files).map(([path, text]) => readSource('/nowhere', path, text)));
}

const server = 'packages/server/src';

test('what the table allows is allowed', () => {
  const files = {
    [`${server}/workspace/variables/variables.routes.ts`]: `
      import { endpoint } from '../../kernel/endpoint.ts';
      import { projectOf } from '../projects/index.ts';
      import type { Variable } from '@headgate/contract';
      import { rules } from './variables.ts';`,
    'packages/agent/src/session/session.ts': `export * from '@headgate/pipelines';`,
    [`${server}/main/config.ts`]: 'export const port = process.env.HEADGATE_PORT;',
    'scripts/some.ts': `import { x } from '../packages/server/src/kernel/x.ts'; process.env.HOME;`,
  };
  assert.deepEqual(found(files), []);
});

const refused: [what: string, path: string, text: string, expected: RegExp][] = [
  [
    'a package that may not be used',
    'packages/agent/src/a.ts',
    `import '@headgate/server';`,
    /agent may not import server/,
  ],
  [
    'types, too',
    'packages/contract/src/a.ts',
    `import type { P } from '@headgate/pipelines';`,
    /may not import/,
  ],
  ['a re-export', 'packages/pipelines/src/a.ts', `export { x } from '@headgate/contract';`, /may not import/],
  [
    'an import() type',
    'packages/pipelines/src/a.ts',
    `let x: import('@headgate/contract').X;`,
    /may not import/,
  ],
  ['a dynamic import', 'packages/client/src/a.ts', `await import('@headgate/server');`, /may not import/],
  [
    'another package by its path',
    'packages/agent/src/a.ts',
    `import '../../server/src/a.ts';`,
    /may not import/,
  ],
  ['a script', 'packages/agent/src/a.ts', `import '../../../scripts/test.ts';`, /outside of the packages/],
  [
    'a later folder of the kernel',
    `${server}/kernel/http/a.ts`,
    `import '../database/database.ts';`,
    /in packages\/server\/src\/kernel, http stands below database/,
  ],
  [
    'a folder of the kernel from a file beside it',
    `${server}/kernel/clock.ts`,
    `import './http/problems.ts';`,
    /a file of no folder stands below http/,
  ],
  [
    'a file beside the folders that are before it',
    `${server}/records/events/log/a.ts`,
    `import '../event-stream.ts';`,
    /log stands below a file of no folder/,
  ],
  [
    'a folder that has no place in the order',
    'packages/pipelines/src/check/a.ts',
    `import '../ideas/b.ts';`,
    /ideas of packages\/pipelines\/src has no place/,
  ],
  [
    'a higher wing',
    `${server}/kernel/a.ts`,
    `import '../runtime/executions/index.ts';`,
    /kernel stands below runtime/,
  ],
  [
    'the inside of a slice',
    `${server}/runtime/tests/a.ts`,
    `import '../executions/b.ts';`,
    /by its index\.ts/,
  ],
  [
    'the inside of a slice from main',
    `${server}/main/app.ts`,
    `import '../access/tokens/b.ts';`,
    /by its index\.ts/,
  ],
  [
    'what a slice tells the tests, from the slice itself',
    `${server}/runtime/tests/a.ts`,
    `import './a.guards.ts';`,
    /the harness is for tests only/,
  ],
  ['a file in no wing', `${server}/a.ts`, `import './kernel/b.ts';`, /one of its wings/],
  ['the environment', `${server}/kernel/a.ts`, 'const { HOME } = process.env;', /reads process\.env/],
  ['the environment by name', `${server}/kernel/a.ts`, `process['env'];`, /reads process\.env/],
  [
    'the environment by import',
    `${server}/kernel/a.ts`,
    `import { env } from 'node:process';`,
    /reads process\.env/,
  ],
];
for (const [what, path, text, expected] of refused) {
  test(`refused: ${what}`, () => {
    const sentences = found({ [path]: text });
    assert.equal(sentences.length, 1);
    assert.match(sentences[0] ?? '', expected);
  });
}

test('a cycle is shown once, with its path', () => {
  const cycle = found({
    'scripts/a.ts': `import './b.ts';`,
    'scripts/b.ts': `import './c.ts';`,
    'scripts/c.ts': `import './b.ts';`,
  });
  assert.deepEqual(cycle, ['cycle: scripts/b.ts → scripts/c.ts → scripts/b.ts']);
});

test('a long chain of imports is refused, and only that of production code in one folder', () => {
  const chain = (...paths: string[]) =>
    violations(
      paths.map((path, index) => ({
        path,
        imports: paths.slice(index + 1, index + 2),
        readsEnvironment: false,
      })),
    );
  const files = [1, 2, 3, 4, 5, 6, 7].map((each) => `packages/agent/src/a/f${each}.ts`);
  assert.deepEqual(chain(...files), []);
  assert.deepEqual(chain('packages/agent/src/a/f.test.ts', ...files), []);
  assert.deepEqual(chain('packages/agent/src/b/f0.ts', ...files), []);
  assert.deepEqual(chain('packages/agent/src/a/f0.ts', ...files), [
    'packages/agent/src/a has a chain of 8 imports, 7 at most: ' +
      'f0.ts → f1.ts → f2.ts → f3.ts → f4.ts → f5.ts → f6.ts → f7.ts',
  ]);
});

test('a file that cannot be read is named', () => {
  assert.throws(() => found({ 'scripts/a.ts': 'import {' }), /scripts\/a\.ts/);
});
