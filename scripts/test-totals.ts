import type { TestEvent } from 'node:test/reporters';

/** What `scripts/test.ts` reads when the run is over. */
export interface TestTotals {
  passed: number;
  failed: number;
  skipped: number;
}

/** A reporter of `node --test`: prints the totals of the whole run, and nothing else, as one line of JSON. */
async function* totals(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    // There is one summary a file as well.
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue;
    const { tests, passed, skipped, todo } = event.data.counts;
    // What was cancelled, by a time limit for one, has failed.
    const sums: TestTotals = { passed, failed: tests - passed - skipped - todo, skipped: skipped + todo };
    yield `${JSON.stringify(sums)}\n`;
  }
}

// biome-ignore lint/style/noDefaultExport: node takes a reporter module's default export
export default totals;
