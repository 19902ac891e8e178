import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** What `scripts/test.ts` reads when a run is over. */
export interface TestTotals {
  passed: number;
  failed: number;
  skipped: number;
  /** How long each file took. Unit tests have no times of their own. */
  files: { path: string; milliseconds: number }[];
}

const TEST_FILE = /\.test\.\w+$/;

/** A reporter of `node --test`: prints the totals of the whole run as one line of JSON, and nothing else. */
async function* totals(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: TestTotals['files'] = [];
  for await (const event of source) {
    if (event.type === 'test:complete') {
      const { name, nesting, details } = event.data;
      // A file of a group is a suite (run-test-group.ts).
      if (nesting === 0 && details.type === 'suite' && TEST_FILE.test(name))
        files.push({ path: name, milliseconds: details.duration_ms });
      continue;
    }
    if (event.type !== 'test:summary') continue;
    const { counts, duration_ms: milliseconds, file } = event.data;
    if (file !== undefined) {
      if (TEST_FILE.test(file)) files.push({ path: relative(process.cwd(), file), milliseconds });
      continue;
    }
    const { tests, passed, skipped, todo } = counts;
    // A cancelled test, for example one over its time limit, has failed.
    const failed = tests - passed - skipped - todo;
    const sums: TestTotals = { passed, failed, skipped: skipped + todo, files };
    yield `${JSON.stringify(sums)}\n`;
  }
}

// biome-ignore lint/style/noDefaultExport: Node loads a reporter from the module's default export
export default totals;
